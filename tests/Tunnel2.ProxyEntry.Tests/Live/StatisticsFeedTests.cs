using System.Diagnostics.Metrics;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Live;

public sealed class StatisticsFeedTests : IDisposable
{
    private readonly Meter _meter = new(HubMetrics.MeterName);
    private readonly Hub _hub;
    private readonly SessionKeyTable _names = new();
    private readonly NodeStatistics _sums;
    private readonly StatisticsFeed _feed;
    private readonly StatisticsFeed _other;

    public StatisticsFeedTests()
    {
        var time = new ManualTimeProvider();
        _hub = new Hub(new HubLimits(), _meter, time);
        var statuses = new SessionStatusFeed(_hub, new ListedSessions(), time);
        _sums = new NodeStatistics(_hub, new FeedCounters(), statuses, partitions: 2);
        _feed = new StatisticsFeed(0, _hub, _names, statuses, _sums);
        _other = new StatisticsFeed(1, _hub, _names, statuses, _sums);
    }

    public void Dispose()
    {
        _feed.Dispose();
        _other.Dispose();
        _sums.Dispose();
        _hub.Dispose();
        _meter.Dispose();
    }

    [Fact]
    public void A_window_is_published_for_each_session_and_once_for_all()
    {
        Close(_feed, "web", second: 5, seconds: 1, requests: 2, bytes: 10);
        Close(_other, "shop", second: 5, seconds: 1, requests: 1, bytes: 40);
        Close(_feed, RequestPublisher.NoSession, second: 5, seconds: 1, requests: 4, bytes: 0);
        _feed.AdvanceTo(6 * WatermarkFilter.Second);
        Assert.Empty(Node);
        _other.AdvanceTo(6 * WatermarkFilter.Second);
        _other.AdvanceTo(7 * WatermarkFilter.Second);
        Assert.Equal(("1s", 1L, "web", "2", "20"), Of(Assert.Single(Session("web"))));
        Assert.Equal(("1s", 1L, "shop", "1", "40"), Of(Assert.Single(Session("shop"))));
        Assert.Equal(("1s", 1L, null, "7", "60"), Of(Assert.Single(Node)));
        Assert.Equal("5000000", Node[0]["startUs"]);
        Assert.Empty(Session(RequestPublisher.NoSession));
    }

    [Fact]
    public void A_window_waits_for_the_partition_that_is_furthest_back()
    {
        Close(_feed, "web", second: 1, seconds: 1, requests: 1, bytes: 1);
        Close(_feed, "web", second: 2, seconds: 1, requests: 2, bytes: 1);
        _feed.AdvanceTo(3 * WatermarkFilter.Second);
        _other.AdvanceTo((2 * WatermarkFilter.Second) - 1);
        Assert.Empty(Node);
        _other.AdvanceTo(2 * WatermarkFilter.Second);
        Assert.Equal(("1s", 1L, null, "1", "1"), Of(Assert.Single(Node)));
        Close(_feed, "web", second: 0, seconds: 10, requests: 3, bytes: 1);
        Close(_other, "shop", second: 0, seconds: 60, requests: 4, bytes: 1);
        _feed.Complete();
        _other.Complete();
        Assert.Equal([("1s", 2L, null, "2", "2"), ("10s", 3L, null, "3", "3"), ("1m", 4L, null, "4", "4")], Node.Select(Of));
        Assert.Equal(["1s", "10s"], Session("web").Select(static shown => shown.Key));
    }

    [Fact]
    public void Errors_are_named_and_only_where_there_are_any()
    {
        Close(_feed, "web", second: 1, seconds: 1, requests: 2, bytes: 0, error: RequestErrorCodes.VisitorLeft);
        Close(_other, "shop", second: 1, seconds: 1, requests: 1, bytes: 0);
        Pass(2);
        Assert.Equal("{\"visitor-left\":2}", Session("web")[0]["errorsByCode"]);
        Assert.Null(Session("shop")[0]["errorsByCode"]);
        Assert.Equal("{\"visitor-left\":2}", Node[0]["errorsByCode"]);
        Close(_feed, "web", second: 2, seconds: 1, requests: 1, bytes: 0);
        Pass(3);
        Assert.Null(Node[0]["errorsByCode"]);
    }

    private IReadOnlyList<Shown> Node => Shown.On(_hub, "node.stats");

    private static (string Key, long Sequence, string? Session, string? Requests, string? BytesOut) Of(Shown shown) =>
        (shown.Key, shown.Sequence, shown["session"], shown["requests"], shown["bytesOut"]);

    private IReadOnlyList<Shown> Session(string name) => Shown.On(_hub, $"session.{name}.stats");

    private void Pass(int second)
    {
        _feed.AdvanceTo(second * WatermarkFilter.Second);
        _other.AdvanceTo(second * WatermarkFilter.Second);
    }

    private void Close(
        StatisticsFeed feed, string name, int second, int seconds, int requests, ulong bytes, ushort error = RequestErrorCodes.None)
    {
        var start = second * WatermarkFilter.Second;
        var cell = new WindowCell();
        for (var i = 0; i < requests; i++)
        {
            cell.Add(new RequestSample(start, 0, 1, 0, bytes, error));
        }

        feed.OnWindow(_names.GetOrAdd(System.Text.Encoding.ASCII.GetBytes(name)), start, seconds, cell);
    }
}
