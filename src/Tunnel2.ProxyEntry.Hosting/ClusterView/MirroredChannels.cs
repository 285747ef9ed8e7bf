using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.ClusterView;

/// <summary>
/// Channels of one node, shown by this node's hub as <c>at.{node}.{channel}</c> while a viewer here wants them. What comes from a node is
/// checked: a name or a key goes into the messages of others. Not thread-safe.
/// </summary>
internal sealed class MirroredChannels(Hub hub, string node)
{
    /// <summary>Channels of one node at most. A node has four for each session.</summary>
    public const int Most = 50_000;

    private const int LongestKey = 64;

    private readonly Dictionary<string, HubChannel> _channels = new(StringComparer.Ordinal);

    /// <summary>Shows a message, if its channel is wanted.</summary>
    /// <returns>False: it was left out.</returns>
    public bool Publish(IReadOnlySet<string> wanted, string channel, string key, ReadOnlyMemory<byte> data)
    {
        if (!_channels.TryGetValue(channel, out var own))
        {
            if (!IsPlain(channel) || ChannelName.KindOf(channel) != ChannelNameKind.Channel || !IsWanted(wanted, channel))
            {
                return true;
            }

            var name = $"{Wanted.Prefix}{node}.{channel}";
            if (_channels.Count >= Most || ChannelName.KindOf(name) != ChannelNameKind.Channel)
            {
                return false;
            }

            _channels.Add(channel, own = hub.GetChannel(name));
        }

        if (key.Length > LongestKey || !IsPlain(key))
        {
            return false;
        }

        hub.Publish(own, key, data);
        return true;
    }

    /// <summary>A channel has ended at its node.</summary>
    public void Remove(string channel)
    {
        if (_channels.Remove(channel, out var own))
        {
            hub.RemoveChannel(own);
        }
    }

    /// <summary>Ends those that no viewer wants any more.</summary>
    public void Keep(IReadOnlySet<string> wanted)
    {
        foreach (var channel in _channels.Keys.Where(channel => !IsWanted(wanted, channel)).ToList())
        {
            Remove(channel);
        }
    }

    private static bool IsWanted(IReadOnlySet<string> wanted, string channel) =>
        wanted.Any(pattern => ChannelName.Matches(pattern, channel));

    private static bool IsPlain(string text)
    {
        foreach (var c in text)
        {
            if (c is <= ' ' or > '~' or '"' or '\\')
            {
                return false;
            }
        }

        return text.Length > 0;
    }
}
