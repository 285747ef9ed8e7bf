using System.Collections.Concurrent;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Laboratory.SubscriptionHub;

/// <summary>What the indexes that lost the race share: a record of each subscriber's channels. They know no patterns.</summary>
internal abstract class RecordedSubscriptionIndex : ISubscriptionIndex
{
    private readonly ConcurrentDictionary<Subscriber, HashSet<string>> _channelsOf = new();

    /// <inheritdoc/>
    public bool Add(Subscriber subscriber, string channel)
    {
        if (ChannelName.KindOf(channel) != ChannelNameKind.Channel)
        {
            throw new ArgumentException("Not the name of a channel.", nameof(channel));
        }

        lock (subscriber.Gate)
        {
            if (subscriber.IsRemoved || !_channelsOf.GetOrAdd(subscriber, static _ => []).Add(channel))
            {
                return false;
            }

            Join(subscriber, channel);
            return true;
        }
    }

    /// <inheritdoc/>
    public bool Remove(Subscriber subscriber, string channel)
    {
        lock (subscriber.Gate)
        {
            if (!_channelsOf.TryGetValue(subscriber, out HashSet<string>? channels) || !channels.Remove(channel))
            {
                return false;
            }

            Leave(subscriber, channel);
            return true;
        }
    }

    /// <inheritdoc/>
    public int RemoveClient(Subscriber subscriber)
    {
        lock (subscriber.Gate)
        {
            subscriber.IsRemoved = true;
            if (!_channelsOf.TryRemove(subscriber, out HashSet<string>? channels))
            {
                return 0;
            }

            foreach (string channel in channels)
            {
                Leave(subscriber, channel);
            }

            return channels.Count;
        }
    }

    /// <inheritdoc/>
    public abstract void Get(string channel, SubscriberMatches matches);

    /// <summary>Puts a subscriber into a channel that it is not in.</summary>
    protected abstract void Join(Subscriber subscriber, string channel);

    /// <summary>Takes a subscriber out of a channel that it is in.</summary>
    protected abstract void Leave(Subscriber subscriber, string channel);
}
