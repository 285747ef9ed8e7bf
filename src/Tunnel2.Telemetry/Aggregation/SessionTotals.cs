namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Statistics of each session over a whole recording: the minutes added up, of which every record is in exactly one.</summary>
internal sealed class SessionTotals : IWindowTotals<SessionTotals>
{
    private WindowCell?[] _sessions = new WindowCell?[64];

    /// <inheritdoc/>
    public void OnWindow(int key, long start, int seconds, WindowCell cell)
    {
        if (seconds == 60)
        {
            Add(key, cell);
        }
    }

    /// <inheritdoc/>
    public void Absorb(SessionTotals other, Func<int, int> renumber)
    {
        for (int key = 0; key < other._sessions.Length; key++)
        {
            if (other._sessions[key] is { } cell)
            {
                Add(renumber(key), cell);
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

    private void Add(int key, WindowCell cell)
    {
        if (key >= _sessions.Length)
        {
            Array.Resize(ref _sessions, Math.Max(key + 1, _sessions.Length * 2));
        }

        (_sessions[key] ??= new WindowCell()).Merge(cell);
    }
}
