using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.Laboratory.Aggregation;

/// <summary>
/// Collects windows of several partitions or splits, and merges those of the same session, start and length. Use one per partition, and
/// then <see cref="Absorb"/>: not thread-safe. The product merges the totals of a recording's parts (<see cref="SessionTotals"/>) instead.
/// </summary>
internal sealed class WindowMerger : IWindowSink
{
    private readonly Dictionary<(int Key, long Start, int Seconds), WindowCell> _windows = [];

    public void OnWindow(int key, long start, int seconds, WindowCell cell)
    {
        if (!_windows.TryGetValue((key, start, seconds), out WindowCell? sum))
        {
            sum = new WindowCell();
            _windows.Add((key, start, seconds), sum);
        }

        sum.Merge(cell);
    }

    /// <summary>
    /// Takes the windows of another split, whose session <c>k</c> has the number <c>renumber(k)</c> here. That one is of no use any more:
    /// a window of which nothing is here moves here as it is, because most windows of a split are in no other.
    /// </summary>
    internal void Absorb(WindowMerger other, Func<int, int> renumber)
    {
        foreach (((int key, long start, int seconds), WindowCell cell) in other._windows)
        {
            if (!_windows.TryAdd((renumber(key), start, seconds), cell))
            {
                _windows[(renumber(key), start, seconds)].Merge(cell);
            }
        }
    }

    /// <summary>All results, ordered by length, start and session.</summary>
    internal List<WindowResult> Results() =>
        [.. _windows.Select(w => w.Value.ToResult(w.Key.Key, w.Key.Start, w.Key.Seconds))
            .OrderBy(r => r.Seconds).ThenBy(r => r.StartUnixMicroseconds).ThenBy(r => r.Key)];
}
