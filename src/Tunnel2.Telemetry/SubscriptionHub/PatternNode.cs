using System.Collections.Concurrent;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>One segment of the patterns in a <see cref="PatternTrie"/>. Read without a lock, changed under the trie's lock.</summary>
/// <param name="parent">The previous segment; <see langword="null"/> for the root.</param>
/// <param name="segment">A literal, <c>*</c> or <c>&gt;</c>.</param>
internal sealed class PatternNode(PatternNode? parent, string segment)
{
    private ConcurrentDictionary<string, PatternNode>? _literals;
    private PatternNode? _any;
    private PatternNode? _rest;
    private ChannelSlots? _slots;

    /// <summary>Gets the node of the previous segment.</summary>
    public PatternNode? Parent { get; } = parent;

    /// <summary>Gets the child for any one segment (<c>*</c>).</summary>
    public PatternNode? Any => Volatile.Read(ref _any);

    /// <summary>Gets the child for all the remaining segments (<c>&gt;</c>).</summary>
    public PatternNode? Rest => Volatile.Read(ref _rest);

    /// <summary>Gets or sets the subscribers of the pattern that ends here.</summary>
    public ChannelSlots? Slots
    {
        get => Volatile.Read(ref _slots);
        set => Volatile.Write(ref _slots, value);
    }

    /// <summary>Gets a value indicating whether no pattern ends here or continues from here.</summary>
    public bool IsEmptyUnsynchronized => _slots is null && _any is null && _rest is null && (_literals is null || _literals.IsEmpty);

    /// <summary>Finds the child for a literal segment.</summary>
    public PatternNode? FindLiteral(ReadOnlySpan<char> literal) =>
        Volatile.Read(ref _literals) is { } literals
        && literals.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(literal, out PatternNode? child) ? child : null;

    /// <summary>Finds the child for a segment of a pattern.</summary>
    public PatternNode? FindChild(ReadOnlySpan<char> child) => child switch
    {
        "*" => Any,
        ">" => Rest,
        _ => FindLiteral(child),
    };

    /// <summary>Finds the child for a segment of a pattern, or makes it.</summary>
    public PatternNode GetOrAddChildUnsynchronized(ReadOnlySpan<char> child)
    {
        if (FindChild(child) is { } existing)
        {
            return existing;
        }

        var added = new PatternNode(this, child.ToString());
        switch (child)
        {
            case "*":
                Volatile.Write(ref _any, added);
                break;
            case ">":
                Volatile.Write(ref _rest, added);
                break;
            default:
                // Filled before it is shown, so that the first reader finds the child.
                ConcurrentDictionary<string, PatternNode> literals =
                    _literals ?? new ConcurrentDictionary<string, PatternNode>(concurrencyLevel: 1, capacity: 4, StringComparer.Ordinal);
                literals[added.Segment] = added;
                Volatile.Write(ref _literals, literals);
                break;
        }

        return added;
    }

    /// <summary>Removes a child.</summary>
    public void RemoveChildUnsynchronized(PatternNode child)
    {
        if (child == _any)
        {
            Volatile.Write(ref _any, null);
        }
        else if (child == _rest)
        {
            Volatile.Write(ref _rest, null);
        }
        else
        {
            _literals?.TryRemove(child.Segment, out _);
        }
    }

    private string Segment { get; } = segment;
}
