using System.Globalization;
using System.Text;
using System.Text.Unicode;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.RateLimits;

/// <summary>
/// The token bucket of one session, or of the sessions of a pool. In a cluster a name may have sessions at several nodes: then this node
/// spends a share of the tier's limit, which may change at any moment. Thread-safe.
/// </summary>
internal sealed class SessionRateLimit
{
    /// <summary>The limit's name in the fields. Not the tier's name, because the owner's tier is no information for visitors.</summary>
    private const string PolicyName = "tunnel";

    private readonly TimeProvider _timeProvider;
    private readonly TokenBucket _bucket;
    private readonly byte[] _policy;
    private readonly Lock _changing = new();
    private double _share = 1;
    private Action? _pressed;
    private long _refused;
    private long _taken;

    /// <param name="tier">The limits.</param>
    /// <param name="timeProvider">The clock; null: that of the system.</param>
    public SessionRateLimit(RateTier tier, TimeProvider? timeProvider = null)
    {
        Tier = tier;
        TierTag = new KeyValuePair<string, object?>("tunnel2.tier", tier.Name);
        _timeProvider = timeProvider ?? TimeProvider.System;
        _bucket = new TokenBucket(
            _timeProvider.TimestampFrequency, _timeProvider.GetTimestamp(), tier.RequestsPerSecond, tier.Burst);
        _policy = Encoding.ASCII.GetBytes(
            string.Create(CultureInfo.InvariantCulture, $"\"{PolicyName}\";q={tier.Burst};w={SecondsFor(tier.Burst)}"));
    }

    /// <summary>The tier that limits the session.</summary>
    public RateTier Tier { get; }

    /// <summary>The tier as a tag of a metric; its values are those of the settings.</summary>
    public KeyValuePair<string, object?> TierTag { get; }

    /// <summary>Requests that found no token.</summary>
    public long Refused => Volatile.Read(ref _refused);

    /// <summary>Requests that wanted a token since the limit is shared.</summary>
    public long Asked => Volatile.Read(ref _refused) + Volatile.Read(ref _taken);

    /// <summary>What this node may spend of the limit: 1 is all of it.</summary>
    public double Share => Volatile.Read(ref _share);

    /// <summary>Whether the cluster sets the share.</summary>
    public bool IsShared => Volatile.Read(ref _pressed) is not null;

    /// <summary>Other nodes may have sessions under the same limit: from now on this node spends a share of it.</summary>
    /// <param name="share">
    /// Above 0, at most 1. The burst is shared as the rate is, and one request more for what is lost by rounding.
    /// </param>
    /// <param name="pressed">Called for each request that is refused; must not block or throw. Null: it is not shared any more.</param>
    public void Set(double share, Action? pressed)
    {
        lock (_changing)
        {
            if (share != _share)
            {
                _bucket.Change(_timeProvider.GetTimestamp(), Tier.RequestsPerSecond * share, SizeOf(Tier.Burst, share));
                Volatile.Write(ref _share, share);
            }

            Volatile.Write(ref _pressed, pressed);
        }
    }

    /// <summary>What the bucket of a node with a share holds.</summary>
    public static double SizeOf(int burst, double share) => share < 1 ? Math.Min(burst, (burst * share) + 1) : burst;

    /// <summary>The share of the limit that this one replaces.</summary>
    public void TakeShareOf(SessionRateLimit before)
    {
        if (Volatile.Read(ref before._pressed) is { } pressed)
        {
            Set(before.Share, pressed);
        }
    }

    /// <summary>Takes a token for a request.</summary>
    /// <returns>False when the session has used what its tier allows.</returns>
    public bool TryTake()
    {
        var pressed = Volatile.Read(ref _pressed);
        if (!_bucket.TryTake(_timeProvider.GetTimestamp()))
        {
            Interlocked.Increment(ref _refused);
            pressed?.Invoke();
            return false;
        }

        if (pressed is not null)
        {
            Interlocked.Increment(ref _taken);
        }

        return true;
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
        // A token is there when it is earned, except for the rounding of a division.
        var left = (int)(_bucket.Left(_timeProvider.GetTimestamp()) + 1e-6);
        var all = SecondsFor(Tier.Burst - left);
        Utf8.TryWrite(destination, CultureInfo.InvariantCulture, $"\"{PolicyName}\";r={left};t={all}", out var length);
        return length;
    }

    private int SecondsFor(int tokens) => (int)(((long)tokens + Tier.RequestsPerSecond - 1) / Tier.RequestsPerSecond);
}
