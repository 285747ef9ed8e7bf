using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Laboratory.SubscriptionHub;

/// <summary>
/// Maps from channel to a set of subscribers, chosen by the channel's hash, each behind a lock. One shard is "one lock and a map".
/// </summary>
/// <remarks>
/// A publisher copies the set under the lock, so a large channel keeps everybody of its shard waiting. The copy is the thread's own and
/// lasts until its next <see cref="Get"/>.
/// </remarks>
internal sealed class ShardedSubscriptionIndex : RecordedSubscriptionIndex
{
    [ThreadStatic]
    private static Subscriber?[]? _copy;

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
                if (_copy is null || _copy.Length < subscribers.Count)
                {
                    _copy = new Subscriber?[subscribers.Count * 2];
                }

                subscribers.CopyTo(_copy!);
                matches.Add(_copy, subscribers.Count);
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
