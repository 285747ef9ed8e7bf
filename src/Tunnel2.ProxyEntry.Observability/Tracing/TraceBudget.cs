namespace Tunnel2.ProxyEntry.Tracing;

/// <summary>
/// How many requests a second may be traced. Spans and their export cost a third of the request's other work, and the exporter's queue is
/// short. The budget is earned evenly, so a flood is not sampled only at the start of each second; unused budget stays for a second.
/// Thread-safe: one word, without a lock.
/// </summary>
internal sealed class TraceBudget
{
    private readonly long _interval;
    private readonly long _second;

    // When the next one is earned if none is left; the generic cell rate algorithm (ITU-T I.371, annex A).
    private long _next = long.MinValue;

    /// <param name="perSecond">How many, 1 or more.</param>
    /// <param name="time">The clock whose timestamps are used.</param>
    public TraceBudget(int perSecond, TimeProvider time)
    {
        _second = time.TimestampFrequency;
        _interval = Math.Max(1, _second / perSecond);
    }

    /// <summary>Takes one from the budget.</summary>
    /// <param name="now">A timestamp of the clock.</param>
    /// <returns>False when none is left.</returns>
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
