using System.Runtime.CompilerServices;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>
/// Statistics of each session over its whole input. One cell a session: windows of a minute of lateness would be sixty times as many, in
/// each partition.
/// </summary>
internal sealed class SessionTotals : IMergeableState<SessionTotals>
{
    private WindowCell?[] _sessions = new WindowCell?[64];

    /// <inheritdoc/>
    public void Process(ReadOnlySpan<RequestSample> batch)
    {
        WindowCell?[] sessions = _sessions;
        foreach (ref readonly RequestSample sample in batch)
        {
            int key = sample.Key;
            WindowCell? cell = (uint)key < (uint)sessions.Length ? sessions[key] : null;
            if (cell is null)
            {
                cell = Add(key);
                sessions = _sessions;
            }

            cell.Add(sample);
        }
    }

    /// <inheritdoc/>
    public void AdvanceTo(long watermark)
    {
        // No windows.
    }

    /// <inheritdoc/>
    public void Complete()
    {
        // The cells are the result.
    }

    /// <inheritdoc/>
    public void Absorb(SessionTotals other, Func<int, int> renumber)
    {
        for (int i = 0; i < other._sessions.Length; i++)
        {
            if (other._sessions[i] is { } cell)
            {
                int key = renumber(i);
                ((key < _sessions.Length ? _sessions[key] : null) ?? Add(key)).Merge(cell);
            }
        }
    }

    /// <summary>One row a session, in the order of their numbers.</summary>
    internal IEnumerable<WindowResult> Results() =>
        _sessions.Index().Where(static pair => pair.Item is not null).Select(static pair => pair.Item!.ToResult(pair.Index, 0, 0));

    /// <summary>A session's failed requests by error code, the most frequent first.</summary>
    internal IEnumerable<KeyValuePair<ushort, long>> Errors(int key) =>
        (_sessions[key]!.ErrorsByCode ?? new Dictionary<ushort, long>())
            .OrderByDescending(static pair => pair.Value).ThenBy(static pair => pair.Key);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private WindowCell Add(int key)
    {
        if (key >= _sessions.Length)
        {
            Array.Resize(ref _sessions, Math.Max(key + 1, _sessions.Length * 2));
        }

        return _sessions[key] = new WindowCell();
    }
}
