namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>All patterns with subscribers, one level per segment. Matching takes no lock and allocates nothing.</summary>
/// <remarks>
/// Changes are made under one lock, because patterns change with dashboards and not with messages. A node without pattern and children is
/// removed at once; a publisher that is just visiting it finds nothing there, which is correct.
/// </remarks>
internal sealed class PatternTrie
{
    private readonly Lock _gate = new();
    private readonly PatternNode _root = new(null, "");
    private int _count;

    /// <summary>Gets the number of different patterns.</summary>
    public int Count => Volatile.Read(ref _count);

    /// <summary>Finds the slots of a valid pattern, and makes them if there are none.</summary>
    public ChannelSlots GetOrAdd(string pattern)
    {
        lock (_gate)
        {
            PatternNode node = _root;
            foreach (Range range in pattern.AsSpan().Split('.'))
            {
                node = node.GetOrAddChildUnsynchronized(pattern.AsSpan(range));
            }

            if (node.Slots is not { } slots)
            {
                slots = new ChannelSlots(pattern);
                node.Slots = slots;
                Volatile.Write(ref _count, _count + 1);
            }

            return slots;
        }
    }

    /// <summary>Finds the slots of a pattern.</summary>
    /// <returns><see langword="null"/> when it has no subscribers.</returns>
    public ChannelSlots? Find(string pattern)
    {
        lock (_gate)
        {
            return FindUnsynchronized(pattern)?.Slots;
        }
    }

    /// <summary>Removes a pattern that has no subscribers.</summary>
    public void Remove(string pattern)
    {
        lock (_gate)
        {
            PatternNode? node = FindUnsynchronized(pattern);
            if (node?.Slots is null)
            {
                return;
            }

            node.Slots = null;
            Volatile.Write(ref _count, _count - 1);
            while (node is { Parent: { } parent, IsEmptyUnsynchronized: true })
            {
                parent.RemoveChildUnsynchronized(node);
                node = parent;
            }
        }
    }

    /// <summary>Adds the slots of every pattern that <paramref name="channel"/> matches.</summary>
    public void Match(ReadOnlySpan<char> channel, SubscriberMatches matches) => Match(_root, channel, matches, ChannelName.MaximumSegments);

    private static void Match(PatternNode node, ReadOnlySpan<char> rest, SubscriberMatches matches, int levels)
    {
        if (node.Rest?.Slots is { } ofTheRest)
        {
            matches.Add(ofTheRest.Array);
        }

        int dot = rest.IndexOf('.');
        ReadOnlySpan<char> segment = dot < 0 ? rest : rest[..dot];
        Visit(node.FindLiteral(segment), dot < 0 ? default : rest[(dot + 1)..], dot < 0, matches, levels);
        Visit(node.Any, dot < 0 ? default : rest[(dot + 1)..], dot < 0, matches, levels);
    }

    private static void Visit(PatternNode? node, ReadOnlySpan<char> rest, bool isLast, SubscriberMatches matches, int levels)
    {
        if (node is null)
        {
            return;
        }

        if (!isLast)
        {
            // No pattern has more levels, so a channel with a thousand dots costs no more than one with sixteen.
            if (levels > 1)
            {
                Match(node, rest, matches, levels - 1);
            }
        }
        else if (node.Slots is { } slots)
        {
            matches.Add(slots.Array);
        }
    }

    private PatternNode? FindUnsynchronized(string pattern)
    {
        PatternNode? node = _root;
        foreach (Range range in pattern.AsSpan().Split('.'))
        {
            node = node.FindChild(pattern.AsSpan(range));
            if (node is null)
            {
                return null;
            }
        }

        return node;
    }
}
