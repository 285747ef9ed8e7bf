namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>
/// The phase of a connection and the time when it began, in one word. The connection's own loop moves to the next phase, and the sweep ends
/// a phase that took too long; only one of the two can succeed. Thread-safe.
/// </summary>
internal sealed class ConnectionClock
{
    private const int PhaseBits = 3;

    private long _state;

    /// <summary>The phase.</summary>
    public ConnectionPhase Phase => PhaseOf(Volatile.Read(ref _state));

    /// <summary>Begins a phase after any other. For phases after one that cannot expire, or whose expiry no longer matters.</summary>
    public void Begin(ConnectionPhase phase, long now) => Volatile.Write(ref _state, Pack(phase, now));

    /// <summary>Moves to the next phase.</summary>
    /// <returns>False when the current phase has expired.</returns>
    public bool TryMoveOn(ConnectionPhase next, long now)
    {
        var state = Volatile.Read(ref _state);
        return PhaseOf(state) != ConnectionPhase.Expired && Interlocked.CompareExchange(ref _state, Pack(next, now), state) == state;
    }

    /// <summary>Whether the current phase has lasted too long.</summary>
    public bool IsLate(ReadOnlySpan<long> limits, long now)
    {
        var state = Volatile.Read(ref _state);
        var phase = PhaseOf(state);
        return phase < ConnectionPhase.Expired && now - (state >> PhaseBits) >= limits[(int)phase];
    }

    /// <summary>Lets the current phase expire if it has lasted too long.</summary>
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
    /// How long the connection has waited for a request, in milliseconds; −1 if it does not wait for one, or not long enough to be ended.
    /// </summary>
    /// <param name="now">The time in milliseconds.</param>
    /// <param name="leastIdle">How long it must have waited without a byte of a request.</param>
    /// <param name="leastHead">How long the request's head must have taken so far.</param>
    public long WaitsFor(long now, long leastIdle, long leastHead)
    {
        var state = Volatile.Read(ref _state);
        var phase = PhaseOf(state);
        var waits = now - (state >> PhaseBits);
        return phase <= ConnectionPhase.Head && waits >= (phase == ConnectionPhase.Head ? leastHead : leastIdle) ? waits : -1;
    }

    /// <summary>Lets the current phase expire at once if the connection waits for a request or for the rest of its head.</summary>
    public bool TryExpireWaiting(long now) => TryExpireBetween(ConnectionPhase.New, ConnectionPhase.Head, now);

    /// <summary>Lets the current phase expire at once if it is the wait for the next request.</summary>
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
