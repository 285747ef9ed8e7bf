namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>
/// The phase of a connection and when it began, in one word: the connection's own loop moves on from one phase to the next, the sweep
/// ends one that took too long, and of the two only one can be first. Thread-safe.
/// </summary>
internal sealed class ConnectionClock
{
    private const int PhaseBits = 3;

    private long _state;

    /// <summary>The phase.</summary>
    public ConnectionPhase Phase => PhaseOf(Volatile.Read(ref _state));

    /// <summary>
    /// Begins a phase, whatever was before. For phases that follow one which cannot expire, or whose expiry does not matter any more.
    /// </summary>
    public void Begin(ConnectionPhase phase, long now) => Volatile.Write(ref _state, Pack(phase, now));

    /// <summary>Moves on to the next phase.</summary>
    /// <returns>False when the present one has expired.</returns>
    public bool TryMoveOn(ConnectionPhase next, long now)
    {
        var state = Volatile.Read(ref _state);
        return PhaseOf(state) != ConnectionPhase.Expired && Interlocked.CompareExchange(ref _state, Pack(next, now), state) == state;
    }

    /// <summary>Whether the present phase has lasted too long.</summary>
    public bool IsLate(ReadOnlySpan<long> limits, long now)
    {
        var state = Volatile.Read(ref _state);
        var phase = PhaseOf(state);
        return phase < ConnectionPhase.Expired && now - (state >> PhaseBits) >= limits[(int)phase];
    }

    /// <summary>Lets the present phase expire if it has lasted too long.</summary>
    /// <param name="limits">The limits, in milliseconds by phase; phases without one have <see cref="long.MaxValue"/>.</param>
    /// <param name="now">The time in milliseconds.</param>
    public bool TryExpire(ReadOnlySpan<long> limits, long now)
    {
        var state = Volatile.Read(ref _state);
        var phase = PhaseOf(state);
        return phase < ConnectionPhase.Expired
            && now - (state >> PhaseBits) >= limits[(int)phase]
            && Interlocked.CompareExchange(ref _state, Pack(ConnectionPhase.Expired, now), state) == state;
    }

    /// <summary>
    /// How long the connection has waited for a request; −1 where it does not wait for one, or not for as long as its phase may be left
    /// alone.
    /// </summary>
    /// <param name="now">The time in milliseconds.</param>
    /// <param name="leastIdle">For how long nothing of a request has come.</param>
    /// <param name="leastHead">For how long its head has been coming.</param>
    public long WaitsFor(long now, long leastIdle, long leastHead)
    {
        var state = Volatile.Read(ref _state);
        var phase = PhaseOf(state);
        var waits = now - (state >> PhaseBits);
        return phase <= ConnectionPhase.Head && waits >= (phase == ConnectionPhase.Head ? leastHead : leastIdle) ? waits : -1;
    }

    /// <summary>Lets the present phase expire at once if it is one of waiting for a request, or of its head.</summary>
    public bool TryExpireWaiting(long now) => TryExpireBetween(ConnectionPhase.New, ConnectionPhase.Head, now);

    /// <summary>Lets the present phase expire at once if it is the wait for the next request.</summary>
    public bool TryExpireIdle(long now) => TryExpireBetween(ConnectionPhase.Idle, ConnectionPhase.Idle, now);

    private bool TryExpireBetween(ConnectionPhase first, ConnectionPhase last, long now)
    {
        var state = Volatile.Read(ref _state);
        var phase = PhaseOf(state);
        return phase >= first
            && phase <= last
            && Interlocked.CompareExchange(ref _state, Pack(ConnectionPhase.Expired, now), state) == state;
    }

    private static long Pack(ConnectionPhase phase, long now) => (now << PhaseBits) | (long)phase;

    private static ConnectionPhase PhaseOf(long state) => (ConnectionPhase)(state & ((1 << PhaseBits) - 1));
}
