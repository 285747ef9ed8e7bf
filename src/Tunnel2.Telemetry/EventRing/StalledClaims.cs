namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// Remembers for each producer, on the slow path only, since when the same unfinished claim holds a slot. Publishing a record reads no
/// clock and stores no time. Safe on any thread.
/// </summary>
internal sealed class StalledClaims
{
    private const int MaxRemembered = 256;

    private readonly Lock _lock = new();
    private readonly Dictionary<long, long> _firstSeen = [];
    private readonly EventRingOptions _options;

    internal StalledClaims(EventRingOptions options)
    {
        _options = options;
    }

    /// <summary>Whether this claim (the slot's negative sequence) has held its slot for longer than the claim timeout.</summary>
    internal bool HasExpired(long claim)
    {
        lock (_lock)
        {
            long now = _options.Time.GetTimestamp();
            if (!_firstSeen.TryGetValue(claim, out long since))
            {
                if (_firstSeen.Count == MaxRemembered)
                {
                    _firstSeen.Clear();
                }

                _firstSeen[claim] = now;
                return false;
            }

            if (_options.Time.GetElapsedTime(since, now) < _options.ClaimTimeout)
            {
                return false;
            }

            _firstSeen.Remove(claim);
            return true;
        }
    }
}
