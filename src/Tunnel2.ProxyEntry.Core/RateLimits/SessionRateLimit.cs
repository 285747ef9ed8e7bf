using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Text;
using System.Text.Unicode;
using System.Threading.RateLimiting;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.RateLimits;

/// <summary>
/// The token bucket of one session. It has no timer: taking a token first adds what was earned since the last call. Thread-safe.
/// </summary>
[SuppressMessage(
    "Design", "CA1001:Types that own disposable fields should be disposable",
    Justification = "Without automatic replenishment the limiter holds nothing to dispose of, and requests may look at it after the "
        + "session's end.")]
internal sealed class SessionRateLimit
{
    /// <summary>The limit's name in the fields. Not the tier's name, because the owner's tier is no information for visitors.</summary>
    private const string PolicyName = "tunnel";

    private readonly TokenBucketRateLimiter _bucket;
    private readonly byte[] _policy;
    private long _refused;

    /// <param name="tier">The limits.</param>
    public SessionRateLimit(RateTier tier)
    {
        Tier = tier;
        TierTag = new KeyValuePair<string, object?>("tunnel2.tier", tier.Name);

        // One token at a time, but not more often than about every millisecond: a busy machine's clock is not more accurate.
        var tokens = Math.Max(1, tier.RequestsPerSecond / 1000);
        _bucket = new TokenBucketRateLimiter(new TokenBucketRateLimiterOptions
        {
            AutoReplenishment = false,
            QueueLimit = 0,
            TokenLimit = tier.Burst,
            TokensPerPeriod = tokens,
            ReplenishmentPeriod = TimeSpan.FromSeconds((double)tokens / tier.RequestsPerSecond),
        });
        _policy = Encoding.ASCII.GetBytes(
            string.Create(CultureInfo.InvariantCulture, $"\"{PolicyName}\";q={tier.Burst};w={SecondsFor(tier.Burst)}"));
    }

    /// <summary>The tier that limits the session.</summary>
    public RateTier Tier { get; }

    /// <summary>The tier as a tag of a metric; its values are those of the settings.</summary>
    public KeyValuePair<string, object?> TierTag { get; }

    /// <summary>Requests that found no token.</summary>
    public long Refused => Volatile.Read(ref _refused);

    /// <summary>Takes a token for a request.</summary>
    /// <returns>False when the session has used what its tier allows.</returns>
    public bool TryTake()
    {
        _bucket.TryReplenish();
        using var lease = _bucket.AttemptAcquire();
        if (!lease.IsAcquired)
        {
            Interlocked.Increment(ref _refused);
        }

        return lease.IsAcquired;
    }

    /// <summary>The value of <c>RateLimit-Policy</c>: <c>q</c> is the burst, <c>w</c> the seconds in which it is earned.</summary>
    public ReadOnlySpan<byte> Policy => _policy;

    /// <summary>
    /// Writes the value of <c>RateLimit</c>: <c>r</c> is what is left of the burst, <c>t</c> the seconds until all of it is available
    /// again.
    /// </summary>
    /// <param name="destination">64 bytes are enough.</param>
    /// <returns>How many bytes were written.</returns>
    public int WriteState(Span<byte> destination)
    {
        var left = (int)(_bucket.GetStatistics()?.CurrentAvailablePermits ?? 0);
        var all = SecondsFor(Tier.Burst - left);
        Utf8.TryWrite(destination, CultureInfo.InvariantCulture, $"\"{PolicyName}\";r={left};t={all}", out var length);
        return length;
    }

    private int SecondsFor(int tokens) => (int)(((long)tokens + Tier.RequestsPerSecond - 1) / Tier.RequestsPerSecond);
}
