namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// A number of connections a second, in bursts of twice as many; after two seconds without any, a whole burst is possible again. A part of
/// the guard: not thread-safe.
/// </summary>
/// <param name="Tokens">How many were possible at that time.</param>
/// <param name="At">A time stamp.</param>
internal readonly record struct ConnectionRate(double Tokens, long At)
{
    /// <summary>A rate of which nothing was used yet.</summary>
    public static ConnectionRate Unused(int perSecond, long now) => new(2.0 * perSecond, now);

    /// <summary>The rate now.</summary>
    public ConnectionRate Refilled(int perSecond, TimeProvider time, long now) =>
        new(Math.Min(2.0 * perSecond, Tokens + (time.GetElapsedTime(At, now).TotalSeconds * perSecond)), now);
}
