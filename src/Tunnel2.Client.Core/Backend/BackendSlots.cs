namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// How many connections to backends the process may have, over all tunnels. Each is a slot from before it is opened until it is closed,
/// whether it is in use, upgraded or kept. Where there are several tunnels, each has a share that the others leave free, so that the
/// visitors of one tunnel cannot use up what the others need. Thread-safe.
/// </summary>
/// <remarks>
/// The shares together are half of the limit; the other half goes to the first that asks. A tunnel that has less than its share finds a
/// slot, as long as the shares of tunnels that came later did not make the others' use of the rest too large: then it gets the next ones.
/// </remarks>
internal sealed class BackendSlots
{
    private readonly List<TunnelSlots> _tunnels = [];
    private readonly TimeProvider _timeProvider;
    private long _reportedShortAt;
    private long _nextNumber;
    private int _taken;
    private int _waiting;

    /// <summary>Makes slots.</summary>
    /// <param name="limit">How many, ≥ 1.</param>
    /// <param name="timeProvider">The clock.</param>
    public BackendSlots(int limit, TimeProvider timeProvider)
    {
        Limit = limit;
        _timeProvider = timeProvider;
        _reportedShortAt = timeProvider.GetTimestamp() - timeProvider.TimestampFrequency;
    }

    public int Limit { get; }

    /// <summary>Connections that there are, or are being opened.</summary>
    public int Taken => Volatile.Read(ref _taken);

    /// <summary>How many requests wait.</summary>
    public int Waiting => Volatile.Read(ref _waiting);

    /// <summary>How many slots the others leave to each tunnel; 0: there is one tunnel. Another thread may see an older value.</summary>
    public int Share => _tunnels.Count < 2 ? 0 : Limit / (2 * _tunnels.Count);

    /// <summary>Guards this and all its tunnels.</summary>
    internal Lock Gate { get; } = new();

    /// <summary>The tunnels in the order in which they came.</summary>
    internal IReadOnlyList<TunnelSlots> TunnelsUnsynchronized => _tunnels;

    /// <summary>The slots of one more tunnel, until it is disposed of.</summary>
    public TunnelSlots AddTunnel()
    {
        lock (Gate)
        {
            var tunnel = new TunnelSlots(this);
            _tunnels.Add(tunnel);
            return tunnel;
        }
    }

    /// <summary>A tunnel is over. Connections that it still has keep their slots until they are closed.</summary>
    public void Remove(TunnelSlots tunnel)
    {
        lock (Gate)
        {
            _tunnels.Remove(tunnel);
            ServeUnsynchronized();
        }
    }

    /// <summary>Whether the last report of a shortage is a second ago; then the caller makes the next one.</summary>
    public bool MayReportShort()
    {
        var now = _timeProvider.GetTimestamp();
        var last = Volatile.Read(ref _reportedShortAt);
        return _timeProvider.GetElapsedTime(last, now) >= TimeSpan.FromSeconds(1)
            && Interlocked.CompareExchange(ref _reportedShortAt, now, last) == last;
    }

    /// <summary>A request begins to wait.</summary>
    /// <returns>Its number: smaller than that of all that come later.</returns>
    public long BeginWaitUnsynchronized()
    {
        _waiting++;
        return _nextNumber++;
    }

    /// <summary>A request waits no more.</summary>
    public void EndWaitUnsynchronized() => _waiting--;

    /// <summary>Takes a slot for a tunnel, if it may have one.</summary>
    public bool TryTakeUnsynchronized(TunnelSlots tunnel)
    {
        if (!MayTakeUnsynchronized(tunnel, ReservedUnsynchronized(null), null))
        {
            return false;
        }

        _taken++;
        tunnel.Held++;
        return true;
    }

    /// <summary>A slot comes back: it goes to the request that waits longest of those whose tunnel may have one.</summary>
    public void ReleaseUnsynchronized(TunnelSlots tunnel)
    {
        _taken--;
        tunnel.Held--;
        ServeUnsynchronized();
    }

    /// <summary>Whether a tunnel might have a slot now, or if another one gave one back.</summary>
    public bool MayTakeUnsynchronized(TunnelSlots tunnel, TunnelSlots? releasing) =>
        MayTakeUnsynchronized(tunnel, ReservedUnsynchronized(releasing), releasing);

    /// <summary>The tunnel whose longest waiting request would get a slot that a tunnel gives back; null: there is none.</summary>
    public TunnelSlots? NextUnsynchronized(TunnelSlots? releasing)
    {
        if (_waiting == 0)
        {
            return null;
        }

        TunnelSlots? next = null;
        var reserved = ReservedUnsynchronized(releasing);
        foreach (var tunnel in _tunnels)
        {
            if (tunnel.OldestUnsynchronized is { } oldest
                && (next is null || oldest < next.OldestUnsynchronized)
                && MayTakeUnsynchronized(tunnel, reserved, releasing))
            {
                next = tunnel;
            }
        }

        return next;
    }

    private void ServeUnsynchronized()
    {
        while (NextUnsynchronized(null) is { } next)
        {
            _taken++;
            next.Held++;
            next.ServeUnsynchronized(null);
        }
    }

    private bool MayTakeUnsynchronized(TunnelSlots tunnel, long reserved, TunnelSlots? releasing)
    {
        var free = (long)Limit - _taken + (releasing is null ? 0 : 1);
        var missing = Share - Held(tunnel, releasing);
        return free > 0 && (missing > 0 || free > reserved);
    }

    /// <summary>How many slots are kept for tunnels that have less than their share.</summary>
    private long ReservedUnsynchronized(TunnelSlots? releasing)
    {
        var (share, reserved) = (Share, 0L);
        if (share > 0)
        {
            foreach (var tunnel in _tunnels)
            {
                reserved += Math.Max(0, share - Held(tunnel, releasing));
            }
        }

        return reserved;
    }

    private static int Held(TunnelSlots tunnel, TunnelSlots? releasing) => tunnel.Held - (tunnel == releasing ? 1 : 0);
}
