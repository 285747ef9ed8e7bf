namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>
/// Which documents of a kind a node has followed, without their values, and so what is different in another set. Used by one task at a
/// time.
/// </summary>
internal sealed class SharedIndex
{
    private readonly Dictionary<string, long> _marks = new(StringComparer.Ordinal);
    private SharedSum _sum;
    private bool _isFirst = true;

    /// <summary>What is later than this is asked for; 0: all has to be read.</summary>
    public long Since { get; private set; }

    /// <summary>What is different in a set of all documents.</summary>
    public SharedChanges CompareAll(SharedSet all)
    {
        var kept = all.Documents.Select(static document => document.Key).ToHashSet(StringComparer.Ordinal);
        return new SharedChanges(
            _isFirst,
            [.. all.Documents.Where(document => !_marks.TryGetValue(document.Key, out var mark) || mark != document.Mark)],
            [.. _marks.Keys.Where(key => !kept.Contains(key))]);
    }

    /// <summary>
    /// What is different, by a set of what has changed; null where that does not lead to what the database has: an older copy was put back,
    /// a change was written late or by hand, or what was removed is not known any more.
    /// </summary>
    public SharedChanges? CompareChanged(SharedSet changed)
    {
        var put = changed.Documents.ToDictionary(static document => document.Key, StringComparer.Ordinal);
        var changes = new SharedChanges(
            IsFirst: false, changed.Documents, [.. changed.Gone.Where(key => _marks.ContainsKey(key) && !put.ContainsKey(key))]);
        return SumAfter(changes) == changed.Sum ? changes : null;
    }

    /// <summary>These changes were followed.</summary>
    public void Take(SharedChanges changes, SharedSet set)
    {
        _sum = SumAfter(changes);
        foreach (var key in changes.Gone)
        {
            _marks.Remove(key);
        }

        foreach (var document in changes.Put)
        {
            _marks[document.Key] = document.Mark;
        }

        _isFirst = false;

        // More documents than may be read: what is later than these says nothing about the others.
        Since = _sum == set.Sum ? Math.Max(set.Newest, 1) : 0;
    }

    /// <summary>Nothing is known of what the database has now. What was followed before stays followed.</summary>
    public void Doubt() => Since = 0;

    private SharedSum SumAfter(SharedChanges changes)
    {
        var sum = _sum;
        foreach (var key in changes.Gone.Concat(changes.Put.Select(static document => document.Key)))
        {
            if (_marks.TryGetValue(key, out var mark))
            {
                sum = sum.Without(mark);
            }
        }

        return changes.Put.Aggregate(sum, static (with, document) => with.With(document.Mark));
    }
}
