using System.IO.Pipelines;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Multiplexing.Session;

/// <summary>
/// ProxyEntry's side of a session: the uplinks of one agent's registration of one name. They may come and go while it lives. New streams
/// go to the uplink with the fewest bytes outstanding, to one of the caller's own event loop before others, and to a stalled one only when
/// there is no other. It ends when its last uplink has. Thread-safe.
/// </summary>
internal sealed class TunnelSession
{
    /// <summary>The maximum number of uplinks a session can have.</summary>
    public const int MaxUplinks = 16;

    private readonly Lock _gate = new();
    private readonly int _maxUplinks;
    private readonly TaskCompletionSource<UplinkEnd> _completion = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private volatile UplinkConnection[] _uplinks = [];
    private UplinkEnd? _end;

    /// <summary>Makes a session without uplinks.</summary>
    /// <param name="maxUplinks">The maximum number of uplinks at once, 1 to <see cref="MaxUplinks"/>.</param>
    public TunnelSession(int maxUplinks = MaxUplinks)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(maxUplinks, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(maxUplinks, MaxUplinks);
        _maxUplinks = maxUplinks;
    }

    /// <summary>Whether the session is over or about to be: it takes no further uplink.</summary>
    public bool HasEnded
    {
        get
        {
            lock (_gate)
            {
                return _end is not null;
            }
        }
    }

    /// <summary>Why the session ended; completes when its last uplink has.</summary>
    public Task<UplinkEnd> Completion => _completion.Task;

    /// <summary>The uplinks as they are now.</summary>
    public IReadOnlyList<UplinkConnection> Uplinks => _uplinks;

    /// <summary>Streams open on all uplinks. May be a moment old.</summary>
    public int OpenStreams
    {
        get
        {
            var open = 0;
            foreach (var uplink in _uplinks)
            {
                open += uplink.OpenStreams;
            }

            return open;
        }
    }

    /// <summary>Reads how busy the session is. It takes no lock and does not allocate.</summary>
    /// <param name="home">The event loop of the caller, or null.</param>
    /// <param name="now">A timestamp of the uplinks' time provider; 0: whether they are stalled does not matter.</param>
    public SessionLoad ReadLoad(PipeScheduler? home, long now)
    {
        var (isOpen, isNear, isStalled, streams) = (false, false, now != 0, 0);
        foreach (var uplink in _uplinks)
        {
            streams += uplink.OpenStreams;
            if (uplink.IsOpenForStreams)
            {
                isOpen = true;
                isNear |= home is not null && uplink.Settings.WriterScheduler == home;
                isStalled = isStalled && uplink.IsStalled(now);
            }
        }

        return new SessionLoad(isOpen, isNear, isStalled, streams);
    }

    /// <summary>Adds an uplink and gives it the lowest free slot.</summary>
    /// <returns>False when the session has ended or has as many uplinks as it may.</returns>
    public bool TryAdd(UplinkConnection uplink)
    {
        lock (_gate)
        {
            if (_end is not null || _uplinks.Length == _maxUplinks)
            {
                return false;
            }

            var slot = 0;
            while (_uplinks.Any(other => other.Slot == slot))
            {
                slot++;
            }

            uplink.Streams.Slot = slot;
            uplink.EndObserver = OnEnded;
            _uplinks = [.. _uplinks, uplink];
            return true;
        }
    }

    /// <summary>Removes an uplink that ended; the session ends with its last.</summary>
    /// <returns>Whether it was the last.</returns>
    public bool Remove(UplinkConnection uplink, UplinkEnd end)
    {
        bool last;
        lock (_gate)
        {
            _uplinks = [.. _uplinks.Where(other => other != uplink)];
            last = _uplinks.Length == 0;
            if (last)
            {
                _end ??= end;
            }
        }

        if (last)
        {
            _completion.TrySetResult(_end!);
        }

        return last;
    }

    /// <summary>Opens a stream on the uplink with the fewest outstanding bytes.</summary>
    /// <param name="except">An uplink that has just refused or lost the stream, or null.</param>
    /// <param name="home">The event loop that the caller lives on, or null.</param>
    /// <param name="isSettled">
    /// Whether the caller has worked on that loop already. Then it leaves only for an uplink that is far less busy.
    /// </param>
    /// <param name="avoid">
    /// The slots of uplinks that get it only where no other one is open, or where the others stall or have less room; a bit for each.
    /// </param>
    /// <returns>Null when no uplink takes one.</returns>
    public TunnelStream? TryOpenStream(UplinkStreams? except = null, PipeScheduler? home = null, bool isSettled = true, int avoid = 0)
    {
        // Step 3: the least loaded uplink opens a stream for the request.
        var uplinks = _uplinks;
        if (uplinks.Length == 1)
        {
            return uplinks[0].Streams == except ? null : uplinks[0].TryOpenStream();
        }

        var best = FindBest(uplinks, except, home, isSettled);
        if (avoid != 0 && FindBest(uplinks, except, home, isSettled, avoid) is { } wanted && !HasLessRoom(wanted, best!))
        {
            best = wanted;
        }

        if (best?.TryOpenStream() is { } stream)
        {
            return stream;
        }

        // It is full, or has just ended: any other will do.
        foreach (var uplink in uplinks)
        {
            if (uplink != best && uplink.Streams != except && uplink.TryOpenStream() is { } other)
            {
                return other;
            }
        }

        return null;
    }

    /// <summary>
    /// An uplink was found to be stalled: where another one works, the streams of which nothing has been sent yet are taken back, so that
    /// their owners can try there.
    /// </summary>
    public void OnStalled(UplinkConnection uplink)
    {
        foreach (var other in _uplinks)
        {
            if (other != uplink && other.IsOpenForStreams && !other.IsStalled(other.Settings.TimeProvider.GetTimestamp()))
            {
                uplink.WithdrawUnsent();
                return;
            }
        }
    }

    /// <summary>Ends the session and every uplink of it; the first cause wins.</summary>
    public void End(SessionEndReason reason, string text)
    {
        var end = new UplinkEnd(reason, Text: text);
        UplinkConnection[] uplinks;
        lock (_gate)
        {
            _end ??= end;
            uplinks = _uplinks;
        }

        foreach (var uplink in uplinks)
        {
            uplink.TryEnd(end);
        }

        if (uplinks.Length == 0)
        {
            _completion.TrySetResult(_end!);
        }
    }

    /// <summary>
    /// What ends the session ends all uplinks at once: the one that found it may take a second to send its last GOAWAY and to close.
    /// </summary>
    private void OnEnded(UplinkEnd end)
    {
        if (end.EndsSession && !HasEnded)
        {
            End(end.Reason, end.Error == ProtocolError.None ? end.Text : end.Error.ToString());
        }
    }

    private static bool HasLessRoom(UplinkConnection uplink, UplinkConnection other)
    {
        var now = uplink.Settings.TimeProvider.GetTimestamp();
        return UplinkLoad.Of(uplink, now).HasLessRoomThan(UplinkLoad.Of(other, now));
    }

    private static UplinkConnection? FindBest(
        UplinkConnection[] uplinks, UplinkStreams? except, PipeScheduler? home, bool isSettled, int avoid = 0)
    {
        UplinkConnection? best = null;
        UplinkConnection? near = null;
        UplinkLoad lowest = default;
        UplinkLoad lowestNear = default;
        UplinkLoad fewest = default;
        long now = 0;
        foreach (var uplink in uplinks)
        {
            if (!uplink.IsOpenForStreams || uplink.Streams == except || (avoid >> uplink.Slot & 1) != 0)
            {
                continue;
            }

            now = now == 0 ? uplink.Settings.TimeProvider.GetTimestamp() : now;
            var load = UplinkLoad.Of(uplink, now);
            if (best is null || load.HasFewerStreamsThan(fewest))
            {
                fewest = load;
            }

            if (best is null || load.IsBelow(lowest))
            {
                best = uplink;
                lowest = load;
            }

            if (home is not null && uplink.Settings.WriterScheduler == home && (near is null || load.IsBelow(lowestNear)))
            {
                near = uplink;
                lowestNear = load;
            }
        }

        // A visitor goes where its streams are, and that costs; so it stays where it is, unless it is clearly busier there.
        var leaves = near is null || (isSettled ? lowestNear.IsFarAbove(fewest) : lowestNear.IsClearlyAbove(fewest));
        return leaves ? best : near;
    }
}
