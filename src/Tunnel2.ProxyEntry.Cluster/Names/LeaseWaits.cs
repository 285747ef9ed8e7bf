using Tunnel2.ProxyEntry.Cluster.Nodes;

namespace Tunnel2.ProxyEntry.Cluster.Names;

/// <summary>
/// Which names were refused because another session of their owner has them, at a node that may be lost. Whether it is shows the end of the
/// lease that the node had then. Thread-safe.
/// </summary>
internal sealed class LeaseWaits(TimeProvider timeProvider)
{
    /// <summary>How many names are remembered; of others it is not found out.</summary>
    public const int Most = 1000;

    private readonly Lock _gate = new();
    private readonly Dictionary<string, (long Epoch, long Since, TimeSpan LeaseRest)> _waits = new(StringComparer.Ordinal);

    /// <summary>The name was refused.</summary>
    /// <param name="name">The name.</param>
    /// <param name="epoch">The epoch of the session that has it.</param>
    /// <param name="rest">How long the lease of its node lasts still.</param>
    /// <returns>How long to wait before the next try; zero: the node lives.</returns>
    public TimeSpan Next(string name, long epoch, TimeSpan rest)
    {
        lock (_gate)
        {
            if (_waits.TryGetValue(name, out var wait) && wait.Epoch == epoch && !IsOld(wait))
            {
                if (timeProvider.GetElapsedTime(wait.Since) < wait.LeaseRest)
                {
                    return rest;
                }

                // The node has renewed the lease since then.
                _waits.Remove(name);
                return TimeSpan.Zero;
            }

            if (_waits.Count >= Most)
            {
                foreach (var (other, _) in _waits.Where(pair => IsOld(pair.Value)).ToArray())
                {
                    _waits.Remove(other);
                }

                if (_waits.Count >= Most)
                {
                    return TimeSpan.Zero;
                }
            }

            _waits[name] = (epoch, timeProvider.GetTimestamp(), rest);
            return rest;
        }
    }

    /// <summary>Nothing follows from it any more: the node may have been lost since.</summary>
    private bool IsOld((long Epoch, long Since, TimeSpan LeaseRest) wait) =>
        timeProvider.GetElapsedTime(wait.Since) > wait.LeaseRest + ClusterTimes.Lease;
}
