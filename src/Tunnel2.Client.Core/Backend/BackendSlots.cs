using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// How many connections to backends the process may have, over all tunnels. Each is a slot from before it is opened until it is closed,
/// whether it is in use, upgraded or kept. Where there are several tunnels, each has a share that the others leave free, so that the
/// visitors of one tunnel cannot use up what the others need. Thread-safe.
/// </summary>
/// <remarks>
/// The shares together are half of the limit; the other half goes to the first that asks. A tunnel that has less than its share finds a
/// slot, as long as the shares of tunnels that came later did not make the others' use of the rest too large: then it gets the next ones.
/// <para>Without a descriptor for one more connection there may be as many as there are, until others were found.</para>
/// </remarks>
internal sealed class BackendSlots
{
    private static readonly TimeSpan _second = TimeSpan.FromSeconds(1);

    private readonly List<TunnelSlots> _tunnels = [];
    private readonly TimeProvider _timeProvider;
    private long _reportedFullAt;
    private long _reportedFilesAt;
    private long _nextNumber;
    private int _room;
    private bool _isProbing;
    private int _taken;
    private int _waiting;

    /// <summary>Makes slots.</summary>
    /// <param name="limit">How many, ≥ 1.</param>
    /// <param name="timeProvider">The clock.</param>
    public BackendSlots(int limit, TimeProvider timeProvider)
    {
        Limit = limit;
        _room = limit;
        _timeProvider = timeProvider;
        _reportedFullAt = _reportedFilesAt = timeProvider.GetTimestamp() - timeProvider.TimestampFrequency;
    }

    public int Limit { get; }

    /// <summary>How many there may be now: fewer than the limit while the process has no descriptors for more.</summary>
    public int Room => Volatile.Read(ref _room);

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

    /// <summary>Whether the last report of such a shortage is a second ago; then the caller makes the next one.</summary>
    public bool MayReportShort(StreamResetDetail detail)
    {
        ref var reportedAt = ref detail == StreamResetDetail.NoDescriptors ? ref _reportedFilesAt : ref _reportedFullAt;
        var now = _timeProvider.GetTimestamp();
        var last = Volatile.Read(ref reportedAt);
        return _timeProvider.GetElapsedTime(last, now) >= _second && Interlocked.CompareExchange(ref reportedAt, now, last) == last;
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

    /// <summary>
    /// A slot comes back because the process has no descriptor for its connection. Who waits gets those of connections that are closed;
    /// each second one more is tried, and while that succeeds the next one.
    /// </summary>
    /// <returns>Whether there are such connections. Otherwise it does not help to wait.</returns>
    public bool ReleaseWithoutDescriptorUnsynchronized(TunnelSlots tunnel)
    {
        if (_taken == 1)
        {
            ReleaseUnsynchronized(tunnel);
            return false;
        }

        _taken--;
        tunnel.Held--;
        Volatile.Write(ref _room, _taken);
        if (!_isProbing)
        {
            _isProbing = true;
            _ = ProbeAsync();
        }

        return true;
    }

    /// <summary>There was a descriptor: there may be one for the next connection too.</summary>
    public void FoundDescriptor()
    {
        if (Room == Limit)
        {
            return;
        }

        lock (Gate)
        {
            WidenUnsynchronized();
        }
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

    private async Task ProbeAsync()
    {
        do
        {
            await Task.Delay(_second, _timeProvider).ConfigureAwait(false);
        }
        while (!EndProbing());
    }

    private bool EndProbing()
    {
        lock (Gate)
        {
            if (_waiting == 0)
            {
                Volatile.Write(ref _room, Limit);
            }

            WidenUnsynchronized();
            _isProbing = _room < Limit;
            return !_isProbing;
        }
    }

    private void WidenUnsynchronized()
    {
        Volatile.Write(ref _room, Math.Min(Limit, Math.Max(_room, _taken + 1)));
        ServeUnsynchronized();
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
        var free = (long)_room - _taken + (releasing is null ? 0 : 1);
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
