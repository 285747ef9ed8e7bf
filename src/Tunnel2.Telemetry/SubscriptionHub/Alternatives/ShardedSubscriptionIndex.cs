namespace Tunnel2.Telemetry.SubscriptionHub.Alternatives;

/// <summary>Maps from channel to a set of subscribers, chosen by the channel's hash, each behind a lock. One shard is "one lock and a map".</summary>
/// <remarks>A publisher copies the set under the lock, so a large channel keeps everybody of its shard waiting.</remarks>
internal sealed class ShardedSubscriptionIndex : RecordedSubscriptionIndex
{
    private readonly Shard[] _shards;

    /// <summary>Creates an empty index.</summary>
    /// <param name="shards">At least 1.</param>
    public ShardedSubscriptionIndex(int shards)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(shards);
        _shards = new Shard[shards];
        for (int i = 0; i < shards; i++)
        {
            _shards[i] = new Shard();
        }
    }

    /// <inheritdoc/>
    public override void Get(string channel, SubscriberMatches matches)
    {
        matches.Clear();
        Shard shard = ShardOf(channel);
        lock (shard.Gate)
        {
            if (shard.Channels.TryGetValue(channel, out HashSet<Subscriber>? subscribers))
            {
                matches.AddCopy(subscribers);
            }
        }
    }

    /// <inheritdoc/>
    protected override void Join(Subscriber subscriber, string channel)
    {
        Shard shard = ShardOf(channel);
        lock (shard.Gate)
        {
            if (!shard.Channels.TryGetValue(channel, out HashSet<Subscriber>? subscribers))
            {
                shard.Channels[channel] = subscribers = [];
            }

            subscribers.Add(subscriber);
        }
    }

    /// <inheritdoc/>
    protected override void Leave(Subscriber subscriber, string channel)
    {
        Shard shard = ShardOf(channel);
        lock (shard.Gate)
        {
            HashSet<Subscriber> subscribers = shard.Channels[channel];
            subscribers.Remove(subscriber);
            if (subscribers.Count == 0)
            {
                shard.Channels.Remove(channel);
            }
        }
    }

    private Shard ShardOf(string channel) => _shards[(uint)channel.GetHashCode() % (uint)_shards.Length];

    private sealed class Shard
    {
        public Lock Gate { get; } = new();

        public Dictionary<string, HashSet<Subscriber>> Channels { get; } = [];
    }
}
