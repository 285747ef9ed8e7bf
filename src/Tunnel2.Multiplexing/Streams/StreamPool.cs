using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>The stream objects of an uplink: those in use, and those that wait for their next stream. Thread-safe.</summary>
internal sealed class StreamPool
{
    /// <summary>How many objects are kept.</summary>
    private const int MaxKept = 1024;

    /// <summary>How many are kept while nothing arrives.</summary>
    private const int MaxKeptIdle = 16;

    private readonly UplinkStreams _uplink;
    private readonly ShortLock _gate = new();
    private readonly Stack<TunnelStream> _kept = new();

    /// <summary>
    /// Every object, in use or kept. A stream that is over on the wire has no slot any more, and may still hold bytes that its owner has
    /// not consumed.
    /// </summary>
    private readonly List<TunnelStream> _all = [];

    /// <param name="uplink">Whose streams they are.</param>
    public StreamPool(UplinkStreams uplink) => _uplink = uplink;

    /// <summary>Takes a kept object, or makes one.</summary>
    public TunnelStream Rent()
    {
        using (_gate.EnterScope())
        {
            if (_kept.TryPop(out var kept))
            {
                return kept;
            }

            var stream = new TunnelStream(_uplink) { PoolIndex = _all.Count };
            _all.Add(stream);
            return stream;
        }
    }

    /// <summary>Puts an object back that is in use no more.</summary>
    public void Return(TunnelStream stream)
    {
        using (_gate.EnterScope())
        {
            if (_kept.Count < MaxKept)
            {
                _kept.Push(stream);
            }
            else
            {
                ForgetUnsynchronized(stream);
            }
        }
    }

    /// <summary>An uplink that is silent keeps few objects of its busier days.</summary>
    public void Trim()
    {
        using (_gate.EnterScope())
        {
            if (_kept.Count <= MaxKeptIdle)
            {
                return;
            }

            while (_kept.Count > MaxKeptIdle)
            {
                ForgetUnsynchronized(_kept.Pop());
            }

            _kept.TrimExcess();
            _all.TrimExcess();
        }
    }

    /// <summary>Finds the streams that hold bytes which are not consumed; see <see cref="TunnelStream.TryWeigh"/>.</summary>
    public int Weigh(TimeProvider time, TimeSpan leastAge, List<HeldStream> into)
    {
        TunnelStream[] all;
        using (_gate.EnterScope())
        {
            all = [.. _all];
        }

        var holding = 0;
        foreach (var stream in all)
        {
            if (stream.TryWeigh(time, leastAge, out var held))
            {
                into.Add(held);
            }

            holding += held.Stream is null ? 0 : 1;
        }

        return holding;
    }

    private void ForgetUnsynchronized(TunnelStream stream)
    {
        var last = _all[^1];
        _all[stream.PoolIndex] = last;
        last.PoolIndex = stream.PoolIndex;
        _all.RemoveAt(_all.Count - 1);
    }
}
