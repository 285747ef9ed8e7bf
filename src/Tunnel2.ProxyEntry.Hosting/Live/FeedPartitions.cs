using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.SubscriptionHub;
using Router = Tunnel2.Telemetry.Aggregation.PartitionRouter<
    Tunnel2.Telemetry.Aggregation.RequestSample, Tunnel2.Telemetry.Aggregation.SessionHash, Tunnel2.ProxyEntry.Live.StatisticsFeed>;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// The partitions that the feed's records go to. One works on the feed's own thread; several have workers, and a session is always in the
/// same one. For the feed's thread alone.
/// </summary>
internal sealed class FeedPartitions : IDisposable
{
    private readonly NodeStatistics _node;
    private readonly StatisticsFeed[] _partitions;
    private readonly Router? _router;
    private long _watermark = long.MinValue;
    private long _handedOver = long.MinValue;

    public FeedPartitions(
        int count, Hub hub, SessionKeyTable names, FeedCounters counters, SessionStatusFeed statuses, DashboardFeed dashboard)
    {
        _node = new NodeStatistics(hub, counters, statuses, count, dashboard);
        _partitions = [.. Enumerable.Range(0, count).Select(i => new StatisticsFeed(i, hub, names, statuses, _node, dashboard))];

        // A live ring is one ordered source.
        var plan = new RoutingPlan(count, SourceCanBeSplit: false, Mergeable: true);
        _router = plan.Strategy == RoutingStrategy.Fused ? null : new Router(_partitions, new PipelineOptions());
    }

    /// <summary>Takes in records.</summary>
    /// <exception cref="InvalidOperationException">A worker has died; its exception is inside.</exception>
    public void Process(ReadOnlySpan<RequestSample> batch)
    {
        if (_router is null)
        {
            _partitions[0].Process(batch);
        }
        else
        {
            _router.Route(batch, _watermark);
        }
    }

    /// <summary>Closes windows that end at or before <paramref name="watermark"/>.</summary>
    /// <exception cref="InvalidOperationException">A worker has died; its exception is inside.</exception>
    public void AdvanceTo(long watermark)
    {
        _watermark = watermark;
        if (_router is null)
        {
            _partitions[0].AdvanceTo(watermark);
        }
        else if (watermark >= _handedOver)
        {
            // Windows end with seconds: until then records may wait for their batch to be full.
            _router.HandOver(watermark);
            _handedOver = watermark - (watermark % WatermarkFilter.Second) + WatermarkFilter.Second;
        }
    }

    /// <summary>Closes all windows. The workers have ended when it returns.</summary>
    /// <exception cref="AggregateException">A worker has died.</exception>
    public void Complete()
    {
        if (_router is null)
        {
            _partitions[0].Complete();
        }
        else
        {
            _router.Complete();
        }
    }

    public void Dispose()
    {
        _router?.Dispose();
        Array.ForEach(_partitions, static partition => partition.Dispose());
        _node.Dispose();
    }
}
