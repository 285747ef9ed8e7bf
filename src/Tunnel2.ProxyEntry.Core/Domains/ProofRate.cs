namespace Tunnel2.ProxyEntry.Domains;

/// <summary>How often the server calls domains for one agent: a bucket for each, which fills again with time. Thread-safe.</summary>
internal sealed class ProofRate(TimeProvider time)
{
    /// <summary>How many calls an agent may cause at once.</summary>
    public const int Burst = 10;

    /// <summary>How long until there is another one.</summary>
    public static readonly TimeSpan Period = TimeSpan.FromSeconds(10);

    private const int MostAgents = 10_000;

    private readonly Lock _gate = new();
    private readonly Dictionary<string, (double Left, long At)> _buckets = new(StringComparer.OrdinalIgnoreCase);

    /// <summary>Takes a call.</summary>
    /// <returns>Whether there was one left.</returns>
    public bool TryTake(string agentId)
    {
        lock (_gate)
        {
            var now = time.GetTimestamp();
            var left = _buckets.TryGetValue(agentId, out var bucket)
                ? Math.Min(Burst, bucket.Left + (time.GetElapsedTime(bucket.At, now) / Period))
                : Burst;
            if (left < 1)
            {
                return false;
            }

            if (_buckets.Count >= MostAgents)
            {
                // Full buckets need no memory. Where none is full, the new agent waits: only so many tokens exist.
                foreach (var (old, _) in _buckets.Where(one => time.GetElapsedTime(one.Value.At, now) >= Period * Burst).ToList())
                {
                    _buckets.Remove(old);
                }

                if (_buckets.Count >= MostAgents && !_buckets.ContainsKey(agentId))
                {
                    return false;
                }
            }

            _buckets[agentId] = (left - 1, now);
            return true;
        }
    }
}
