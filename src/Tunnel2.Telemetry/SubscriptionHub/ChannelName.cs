namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>The grammar of channel names and patterns.</summary>
/// <remarks>
/// A name is 1 to 16 segments with dots between them, at most 256 characters in all; no segment is empty. In a pattern a segment <c>*</c>
/// stands for any one segment and a last segment <c>&gt;</c> for one or more. The two characters occur nowhere else. (The form of NATS
/// subjects.)
/// </remarks>
internal static class ChannelName
{
    /// <summary>The most characters of a name.</summary>
    public const int MaximumLength = 256;

    /// <summary>The most segments of a name; bounds the work of matching.</summary>
    public const int MaximumSegments = 16;

    /// <summary>Says whether a text is a channel name or a pattern, and which.</summary>
    public static ChannelNameKind KindOf(ReadOnlySpan<char> name)
    {
        if (name.Length > MaximumLength)
        {
            return ChannelNameKind.Invalid;
        }

        ChannelNameKind kind = ChannelNameKind.Channel;
        int segments = 0;
        bool ended = false;
        foreach (Range range in name.Split('.'))
        {
            ReadOnlySpan<char> segment = name[range];
            if (ended || segment.IsEmpty || ++segments > MaximumSegments)
            {
                return ChannelNameKind.Invalid;
            }

            if (segment.ContainsAny('*', '>'))
            {
                if (segment.Length != 1)
                {
                    return ChannelNameKind.Invalid;
                }

                kind = ChannelNameKind.Pattern;
                ended = segment[0] == '>';
            }
        }

        return kind;
    }

    /// <summary>Whether a valid pattern stands for a valid channel.</summary>
    public static bool Matches(ReadOnlySpan<char> pattern, ReadOnlySpan<char> channel)
    {
        while (true)
        {
            int patternDot = pattern.IndexOf('.');
            int channelDot = channel.IndexOf('.');
            ReadOnlySpan<char> segment = patternDot < 0 ? pattern : pattern[..patternDot];
            if (segment is ">")
            {
                return true;
            }

            if (segment is not "*" && !segment.SequenceEqual(channelDot < 0 ? channel : channel[..channelDot]))
            {
                return false;
            }

            if (patternDot < 0 || channelDot < 0)
            {
                return patternDot < 0 && channelDot < 0;
            }

            pattern = pattern[(patternDot + 1)..];
            channel = channel[(channelDot + 1)..];
        }
    }
}

/// <summary>What a text is as the name of a subscription.</summary>
internal enum ChannelNameKind
{
    /// <summary>Neither a channel nor a pattern.</summary>
    Invalid,

    /// <summary>The name of one channel.</summary>
    Channel,

    /// <summary>A pattern that many channels may match.</summary>
    Pattern,
}
