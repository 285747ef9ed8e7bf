using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// A partition of the feed: the windows of its sessions. Publishes them as they close: <c>session.{name}.stats</c>, with the window's
/// length as the key; <see cref="NodeStatistics"/> gets their sum. For its partition's thread alone.
/// </summary>
internal sealed class StatisticsFeed : IPartitionState<RequestSample>, IWindowSink, IDisposable
{
    private readonly int _partition;
    private readonly Hub _hub;
    private readonly SessionKeyTable _names;
    private readonly SessionStatusFeed _statuses;
    private readonly NodeStatistics _node;
    private readonly DashboardFeed? _dashboard;
    private readonly WindowedState _windows;
    private readonly WindowMessage _message = new();
    private WindowCell _sum = new();
    private long _sumStart;
    private int _sumSeconds;
    private long _passed = long.MinValue;

    public StatisticsFeed(
        int partition, Hub hub, SessionKeyTable names, SessionStatusFeed statuses, NodeStatistics node, DashboardFeed? dashboard = null)
    {
        _partition = partition;
        _hub = hub;
        _names = names;
        _statuses = statuses;
        _node = node;
        _dashboard = dashboard;
        _windows = new WindowedState(this);
    }

    /// <inheritdoc/>
    public void Process(ReadOnlySpan<RequestSample> batch) => _windows.Process(batch);

    /// <inheritdoc/>
    public void AdvanceTo(long watermark)
    {
        _windows.AdvanceTo(watermark);
        if (watermark >= _passed)
        {
            // Windows end with seconds: between two of them there is nothing to say.
            HandOverSum();
            _node.Pass(_partition, watermark);
            _passed = watermark - (watermark % WatermarkFilter.Second) + WatermarkFilter.Second;
        }
    }

    /// <inheritdoc/>
    public void Complete()
    {
        _windows.Complete();
        HandOverSum();
        _node.Pass(_partition, long.MaxValue);
    }

    /// <inheritdoc/>
    public void OnWindow(int key, long start, int seconds, WindowCell cell)
    {
        if (start != _sumStart || seconds != _sumSeconds)
        {
            HandOverSum();
            (_sumStart, _sumSeconds) = (start, seconds);
        }

        _sum.Merge(cell);
        var name = _names.Name(key);
        if (name != RequestPublisher.NoSession)
        {
            var result = cell.ToResult(key, start, seconds);
            _hub.Publish(_statuses.ChannelOf(name, "stats"), WindowMessage.Key(seconds), _message.OfSession(name, result, cell));
            _dashboard?.OnSession(name, result, cell);
        }
    }

    public void Dispose() => _message.Dispose();

    /// <summary>No more cells of the window at hand will come.</summary>
    private void HandOverSum()
    {
        if (_sumSeconds != 0)
        {
            _sum = _node.Exchange(_sumStart, _sumSeconds, _sum);
            _sumSeconds = 0;
        }
    }
}
