namespace Tunnel2.ProxyEntry.Tracing;

/// <summary>
/// How many requests a second may be traced: spans and their export cost a third of what the request does otherwise, and the exporter's
/// queue is short. Earned evenly, so that of a flood not just the first moment of each second is seen; what was not used stays for a
/// second. Thread-safe, one word that is never locked.
/// </summary>
internal sealed class TraceBudget
{
    private readonly long _interval;
    private readonly long _second;

    // When the next one is earned if none is spared; the generic cell rate algorithm (ITU-T I.371, annex A).
    private long _next = long.MinValue;

    /// <param name="perSecond">How many, 1 or more.</param>
    /// <param name="time">The clock whose timestamps are used.</param>
    public TraceBudget(int perSecond, TimeProvider time)
    {
        _second = time.TimestampFrequency;
        _interval = Math.Max(1, _second / perSecond);
    }

    /// <summary>Takes one.</summary>
    /// <param name="now">A timestamp of the clock.</param>
    /// <returns>False when there is none.</returns>
    public bool TryTake(long now)
    {
        while (true)
        {
            var next = Volatile.Read(ref _next);
            var earned = Math.Max(next, now - _second + _interval);
            if (earned > now)
            {
                return false;
            }

            if (Interlocked.CompareExchange(ref _next, earned + _interval, next) == next)
            {
                return true;
            }
        }
    }
}
