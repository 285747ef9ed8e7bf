using System.Collections.Concurrent;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// The index of Tunnel2: per channel an array of slots that publishers walk without a lock, and per subscriber a list of its places.
/// </summary>
/// <remarks>
/// <para>
/// Joining costs a look-up and a slot; leaving a channel costs the slot; removing a client costs its own channels, for any number of other
/// channels and clients. <see cref="Get"/> costs a look-up and, while there are patterns, a walk along the name.
/// </para>
/// <para>
/// A channel exists while it has a subscriber. The last one to leave retires it with its lock held; a thread that found it just before and
/// waits to join sees this and looks it up again.
/// </para>
/// <para><b>Lock order.</b> Subscriber, then channel, then the pattern trie. Publishers take none of them.</para>
/// </remarks>
internal sealed class SubscriptionIndex : ISubscriptionIndex
{
    private readonly ConcurrentDictionary<string, ChannelSlots> _channels = new(StringComparer.Ordinal);
    private readonly PatternTrie _patterns = new();

    /// <summary>Gets the number of channels and patterns that have subscribers; locks the map, so not for hot paths.</summary>
    public int ChannelCount => _channels.Count + _patterns.Count;

    /// <inheritdoc/>
    public bool Add(Subscriber subscriber, string channel)
    {
        bool isPattern = IsPattern(channel);
        lock (subscriber.Gate)
        {
            if (subscriber.IsRemoved || FindPlaceUnsynchronized(subscriber, channel) >= 0)
            {
                return false;
            }

            while (true)
            {
                ChannelSlots slots = isPattern
                    ? _patterns.GetOrAdd(channel)
                    : _channels.GetOrAdd(channel, static name => new ChannelSlots(name));
                lock (slots.Gate)
                {
                    if (!slots.IsRetiredUnsynchronized)
                    {
                        subscriber.Places.Add(slots.JoinUnsynchronized(subscriber));
                        return true;
                    }
                }
            }
        }
    }

    /// <inheritdoc/>
    public bool Remove(Subscriber subscriber, string channel)
    {
        lock (subscriber.Gate)
        {
            int index = FindPlaceUnsynchronized(subscriber, channel);
            if (index < 0)
            {
                return false;
            }

            List<ChannelPlace> places = subscriber.Places;
            Leave(places[index]);
            places[index] = places[^1];
            places.RemoveAt(places.Count - 1);
            return true;
        }
    }

    /// <inheritdoc/>
    public int RemoveClient(Subscriber subscriber)
    {
        lock (subscriber.Gate)
        {
            subscriber.IsRemoved = true;
            List<ChannelPlace> places = subscriber.Places;
            foreach (ChannelPlace place in places)
            {
                Leave(place);
            }

            int count = places.Count;
            places.Clear();
            return count;
        }
    }

    /// <inheritdoc/>
    public void Get(string channel, SubscriberMatches matches)
    {
        matches.Clear();
        if (_channels.TryGetValue(channel, out ChannelSlots? slots))
        {
            matches.Add(slots.Array);
        }

        if (_patterns.Count != 0)
        {
            _patterns.Match(channel, matches);
        }
    }

    private static bool IsPattern(string channel) => ChannelName.KindOf(channel) switch
    {
        ChannelNameKind.Channel => false,
        ChannelNameKind.Pattern => true,
        _ => throw new ArgumentException("Not the name of a channel or pattern.", nameof(channel)),
    };

    /// <summary>A subscriber has few channels, so a search through all beats a map per subscriber.</summary>
    private static int FindPlaceUnsynchronized(Subscriber subscriber, string channel)
    {
        List<ChannelPlace> places = subscriber.Places;
        for (int i = 0; i < places.Count; i++)
        {
            if (string.Equals(places[i].Channel.Name, channel))
            {
                return i;
            }
        }

        return -1;
    }

    private void Leave(ChannelPlace place)
    {
        ChannelSlots slots = place.Channel;
        lock (slots.Gate)
        {
            slots.LeaveUnsynchronized(place);
            if (slots.CountUnsynchronized > 0)
            {
                return;
            }

            slots.IsRetiredUnsynchronized = true;
            if (!_channels.TryRemove(KeyValuePair.Create(slots.Name, slots)))
            {
                _patterns.Remove(slots.Name);
            }
        }
    }
}
