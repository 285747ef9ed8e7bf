using Tunnel2.ProxyEntry.Live;
using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.ProxyEntry.ClusterView;

/// <summary>
/// Adds up the windows of all nodes, histogram by histogram, so that the quantiles are those of all requests. A window is given out once:
/// when all nodes that answer have sent theirs, or a moment after the first one. A node whose clock is wrong counts by the time at which
/// its window came. Not thread-safe.
/// </summary>
/// <param name="time">The clock.</param>
/// <param name="publish">Gets each sum: its start and length, how many nodes are in it, and the statistics.</param>
internal sealed class ClusterStatistics(TimeProvider time, Action<long, int, int, WindowCell> publish)
{
    /// <summary>Windows that are open at once; the oldest one is given out when there are more.</summary>
    public const int MostOpen = 64;

    /// <summary>How long after the first node a window waits for the others: one without requests sends none.</summary>
    public static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(1200);

    /// <summary>A window that comes this long after its end, or before it, is of a clock that is wrong.</summary>
    private const long MostSkew = 10 * WatermarkFilter.Second;

    private readonly Dictionary<(long Start, int Seconds), Sum> _open = [];
    private readonly Queue<(long Start, int Seconds)> _done = new();

    /// <summary>A window of a node.</summary>
    public void Take(string node, CellMessage message)
    {
        var now = (time.GetUtcNow() - DateTimeOffset.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond;
        var length = message.Seconds * WatermarkFilter.Second;
        var start = Math.Abs(now - (message.Start + length)) <= MostSkew ? message.Start : now - (now % length) - length;
        if (_done.Contains((start, message.Seconds)))
        {
            // Its sum was published: what comes so late belongs to the next one.
            start += length;
        }

        if (!_open.TryGetValue((start, message.Seconds), out var sum))
        {
            if (_open.Count >= MostOpen)
            {
                GiveOut(_open.MinBy(static open => open.Value.Since).Key);
            }

            _open.Add((start, message.Seconds), sum = new Sum(time.GetTimestamp()));
        }

        sum.Cell.Merge(message.Cell);
        sum.Nodes.Add(node);
    }

    /// <summary>Gives out what is complete, or has waited long enough.</summary>
    /// <param name="nodes">How many nodes answer.</param>
    public void Look(int nodes)
    {
        foreach (var window in _open
            .Where(open => open.Value.Nodes.Count >= nodes || time.GetElapsedTime(open.Value.Since) >= Patience)
            .Select(static open => open.Key).Order().ToList())
        {
            GiveOut(window);
        }
    }

    /// <summary>Forgets everything: no viewer looks any more.</summary>
    public void Clear()
    {
        _open.Clear();
        _done.Clear();
    }

    private void GiveOut((long Start, int Seconds) window)
    {
        _open.Remove(window, out var sum);
        _done.Enqueue(window);
        if (_done.Count > MostOpen)
        {
            _done.Dequeue();
        }

        publish(window.Start, window.Seconds, sum!.Nodes.Count, sum.Cell);
    }

    private sealed class Sum(long since)
    {
        public long Since { get; } = since;

        public WindowCell Cell { get; } = new();

        public HashSet<string> Nodes { get; } = [];
    }
}
