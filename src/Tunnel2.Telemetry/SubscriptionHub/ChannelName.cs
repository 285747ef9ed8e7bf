namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>The grammar of channel names and patterns.</summary>
/// <remarks>
/// A name is 1 to 16 segments with dots between them, at most 256 characters in all; no segment is empty. In a pattern a segment <c>*</c>
/// matches any one segment, and a last segment <c>&gt;</c> matches one or more. The two characters are allowed nowhere else. (NATS subjects
/// have the same form.)
/// </remarks>
internal static class ChannelName
{
    /// <summary>The longest name, in characters.</summary>
    public const int MaximumLength = 256;

    /// <summary>The largest number of segments in a name, which limits the work of matching.</summary>
    public const int MaximumSegments = 16;

    /// <summary>Whether a text is a channel name, a pattern, or neither.</summary>
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

    /// <summary>Whether a valid pattern matches a valid channel.</summary>
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

/// <summary>The kinds of names of subscriptions.</summary>
internal enum ChannelNameKind
{
    /// <summary>Neither a channel nor a pattern.</summary>
    Invalid,

    /// <summary>The name of one channel.</summary>
    Channel,

    /// <summary>A pattern that many channels may match.</summary>
    Pattern,
}
