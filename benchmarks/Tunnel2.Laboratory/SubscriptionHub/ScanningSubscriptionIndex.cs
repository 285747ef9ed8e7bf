using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Laboratory.SubscriptionHub;

/// <summary>
/// The ancestor's index as it was on the day of its incident: one lock, a map of lists, and no record of a client's channels. So
/// <see cref="RemoveClient"/> searches every channel, with everybody waiting, and <see cref="Get"/> makes a copy under the lock.
/// </summary>
internal sealed class ScanningSubscriptionIndex : ISubscriptionIndex
{
    private readonly Lock _gate = new();
    private readonly Dictionary<string, List<Subscriber>> _channels = new(StringComparer.Ordinal);

    /// <inheritdoc/>
    public bool Add(Subscriber subscriber, string channel)
    {
        if (ChannelName.KindOf(channel) != ChannelNameKind.Channel)
        {
            throw new ArgumentException("Not the name of a channel.", nameof(channel));
        }

        lock (_gate)
        {
            if (subscriber.IsRemoved)
            {
                return false;
            }

            if (!_channels.TryGetValue(channel, out List<Subscriber>? subscribers))
            {
                _channels[channel] = subscribers = [];
            }
            else if (subscribers.Contains(subscriber))
            {
                return false;
            }

            subscribers.Add(subscriber);
            return true;
        }
    }

    /// <inheritdoc/>
    public bool Remove(Subscriber subscriber, string channel)
    {
        lock (_gate)
        {
            return _channels.TryGetValue(channel, out List<Subscriber>? subscribers)
                && RemoveUnsynchronized(subscriber, channel, subscribers);
        }
    }

    /// <inheritdoc/>
    public int RemoveClient(Subscriber subscriber)
    {
        int count = 0;
        lock (_gate)
        {
            subscriber.IsRemoved = true;
            foreach ((string channel, List<Subscriber> subscribers) in _channels)
            {
                count += RemoveUnsynchronized(subscriber, channel, subscribers) ? 1 : 0;
            }
        }

        return count;
    }

    /// <inheritdoc/>
    public void Get(string channel, SubscriberMatches matches)
    {
        matches.Clear();
        lock (_gate)
        {
            if (_channels.TryGetValue(channel, out List<Subscriber>? subscribers))
            {
                Subscriber?[] copy = [.. subscribers];
                matches.Add(copy, copy.Length);
            }
        }
    }

    private bool RemoveUnsynchronized(Subscriber subscriber, string channel, List<Subscriber> subscribers)
    {
        bool removed = subscribers.Remove(subscriber);
        if (subscribers.Count == 0)
        {
            _channels.Remove(channel);
        }

        return removed;
    }
}
