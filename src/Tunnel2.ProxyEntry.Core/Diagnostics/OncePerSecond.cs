namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>Lets one log line a second through, for events that may happen any number of times. Thread-safe.</summary>
internal sealed class OncePerSecond(TimeProvider timeProvider)
{
    private long _next = long.MinValue;

    /// <summary>Whether a line may be written now.</summary>
    public bool MayLog()
    {
        var now = timeProvider.GetTimestamp();
        var next = Volatile.Read(ref _next);
        return now >= next && Interlocked.CompareExchange(ref _next, now + timeProvider.TimestampFrequency, next) == next;
    }
}
