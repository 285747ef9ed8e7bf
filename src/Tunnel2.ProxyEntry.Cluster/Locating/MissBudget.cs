namespace Tunnel2.ProxyEntry.Cluster.Locating;

/// <summary>How many questions about unknown names the database gets: so many a second, and as many at once. Thread-safe.</summary>
internal sealed class MissBudget(int perSecond, TimeProvider timeProvider)
{
    private readonly Lock _gate = new();
    private double _left = perSecond;
    private long _at = timeProvider.GetTimestamp();

    /// <summary>Takes one.</summary>
    /// <returns>False when there is none left now.</returns>
    public bool TryTake()
    {
        lock (_gate)
        {
            var now = timeProvider.GetTimestamp();
            _left = Math.Min(perSecond, _left + (timeProvider.GetElapsedTime(_at, now).TotalSeconds * perSecond));
            _at = now;
            if (_left < 1)
            {
                return false;
            }

            _left--;
            return true;
        }
    }
}
