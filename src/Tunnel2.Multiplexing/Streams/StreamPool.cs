using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>The stream objects of an uplink that wait for their next stream. Thread-safe.</summary>
internal sealed class StreamPool
{
    /// <summary>Objects that are kept at the most.</summary>
    private const int MaxKept = 1024;

    /// <summary>The same while nothing arrives.</summary>
    private const int MaxKeptIdle = 16;

    private readonly UplinkConnection _uplink;
    private readonly ShortLock _gate = new();
    private readonly Stack<TunnelStream> _kept = new();

    /// <param name="uplink">Whose streams they are.</param>
    public StreamPool(UplinkConnection uplink) => _uplink = uplink;

    /// <summary>Takes an object out, or makes one.</summary>
    public TunnelStream Rent()
    {
        using (_gate.EnterScope())
        {
            if (_kept.TryPop(out var kept))
            {
                return kept;
            }
        }

        return new TunnelStream(_uplink);
    }

    /// <summary>Puts an object back that nobody uses any more.</summary>
    public void Return(TunnelStream stream)
    {
        using (_gate.EnterScope())
        {
            if (_kept.Count < MaxKept)
            {
                _kept.Push(stream);
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
                _kept.Pop();
            }

            _kept.TrimExcess();
        }
    }
}
