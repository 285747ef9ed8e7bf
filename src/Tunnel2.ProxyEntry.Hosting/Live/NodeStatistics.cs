using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// Adds up the windows of all partitions and publishes them on <c>node.stats</c>, in order and once each: a window when every partition has
/// passed its end. Thread-safe; its lock is taken before a channel's.
/// </summary>
internal sealed class NodeStatistics : IDisposable
{
    private readonly Hub _hub;
    private readonly FeedCounters _counters;
    private readonly SessionStatusFeed _statuses;
    private readonly DashboardFeed? _dashboard;
    private readonly HubChannel _channel;
    private readonly HubChannel _cells;
    private readonly HubMessageWriter _cellMessage = new();
    private readonly Lock _lock = new();
    private readonly WindowMessage _message = new();
    private readonly SortedDictionary<(long End, int Seconds), WindowCell> _open = [];
    private readonly Stack<WindowCell> _free = new();
    private readonly long[] _passed;

    public NodeStatistics(Hub hub, FeedCounters counters, SessionStatusFeed statuses, int partitions, DashboardFeed? dashboard = null)
    {
        _hub = hub;
        _counters = counters;
        _statuses = statuses;
        _dashboard = dashboard;
        _channel = hub.GetChannel("node.stats");
        _cells = hub.GetChannel(CellMessage.Channel);
        _passed = new long[partitions];
        Array.Fill(_passed, long.MinValue);
    }

    /// <summary>Takes what a partition has of a window.</summary>
    /// <returns>An empty cell in exchange.</returns>
    public WindowCell Exchange(long start, int seconds, WindowCell cell)
    {
        lock (_lock)
        {
            var window = (start + (seconds * WatermarkFilter.Second), seconds);
            if (!_open.TryGetValue(window, out var sum))
            {
                _open.Add(window, cell);
                return _free.TryPop(out var free) ? free : new WindowCell();
            }

            sum.Merge(cell);
            cell.Clear();
            return cell;
        }
    }

    /// <summary>A partition has handed over all its windows that end at or before <paramref name="watermark"/>.</summary>
    public void Pass(int partition, long watermark)
    {
        lock (_lock)
        {
            _passed[partition] = watermark;
            var all = _passed.Min();
            while (_open.Count > 0 && _open.First() is var (window, sum) && window.End <= all)
            {
                _open.Remove(window);
                var start = window.End - (window.Seconds * WatermarkFilter.Second);
                var result = sum.ToResult(0, start, window.Seconds);
                _hub.Publish(
                    _channel, WindowMessage.Key(window.Seconds), _message.OfNode(result, sum, _statuses.Online, _counters));
                PublishCells(start, window.Seconds, sum);
                _dashboard?.OnNode(result, sum);
                sum.Clear();
                _free.Push(sum);
            }

            _dashboard?.AdvanceTo(all);
        }
    }

    public void Dispose()
    {
        _message.Dispose();
        _cellMessage.Dispose();
    }

    /// <summary>For other nodes, which add the windows up; no other caller asks for it.</summary>
    private void PublishCells(long start, int seconds, WindowCell sum)
    {
        if (_hub.HasSubscribers(_cells.Name))
        {
            new CellMessage(start, seconds, _statuses.Online, _counters.Missed + _counters.Dropped, sum).Write(_cellMessage.Begin());
            _hub.Publish(_cells, WindowMessage.Key(seconds), _cellMessage.End());
        }
    }
}
