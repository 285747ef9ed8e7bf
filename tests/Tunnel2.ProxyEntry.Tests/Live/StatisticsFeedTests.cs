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
    private readonly StatisticsFeed _feed;

    public StatisticsFeedTests()
    {
        var time = new ManualTimeProvider();
        _hub = new Hub(new HubLimits(), _meter, time);
        _feed = new StatisticsFeed(_hub, _names, new FeedCounters(), new SessionStatusFeed(_hub, new ListedSessions(), time));
    }

    public void Dispose()
    {
        _feed.Dispose();
        _hub.Dispose();
        _meter.Dispose();
    }

    [Fact]
    public void A_window_is_published_for_each_session_and_once_for_all()
    {
        Close("web", start: 5, seconds: 1, requests: 2, bytes: 10);
        Close("shop", start: 5, seconds: 1, requests: 1, bytes: 40);
        Close(RequestPublisher.NoSession, start: 5, seconds: 1, requests: 4, bytes: 0);
        Assert.Empty(Node);
        _feed.EndOfWindows();
        _feed.EndOfWindows();
        Assert.Equal(("1s", 1L, "web", "2", "20"), Of(Assert.Single(Session("web"))));
        Assert.Equal(("1s", 1L, "shop", "1", "40"), Of(Assert.Single(Session("shop"))));
        Assert.Equal(("1s", 1L, null, "7", "60"), Of(Assert.Single(Node)));
        Assert.Equal("5", Node[0]["startUs"]);
        Assert.Empty(Session(RequestPublisher.NoSession));
    }

    [Fact]
    public void The_next_window_ends_the_sum_of_the_one_before()
    {
        Close("web", start: 1, seconds: 1, requests: 1, bytes: 1);
        Close("web", start: 2, seconds: 1, requests: 2, bytes: 1);
        Assert.Equal(("1s", 1L, null, "1", "1"), Of(Assert.Single(Node)));
        Close("web", start: 2, seconds: 10, requests: 3, bytes: 1);
        Assert.Equal(("1s", 2L, null, "2", "2"), Of(Assert.Single(Node)));
        Close("web", start: 2, seconds: 60, requests: 4, bytes: 1);
        _feed.EndOfWindows();
        Assert.Equal([("1s", 2L, null, "2", "2"), ("10s", 3L, null, "3", "3"), ("1m", 4L, null, "4", "4")], Node.Select(Of));
        Assert.Equal(["1s", "10s", "1m"], Session("web").Select(static shown => shown.Key));
    }

    [Fact]
    public void Errors_are_named_and_only_where_there_are_any()
    {
        Close("web", start: 1, seconds: 1, requests: 2, bytes: 0, error: RequestErrorCodes.VisitorLeft);
        Close("shop", start: 1, seconds: 1, requests: 1, bytes: 0);
        _feed.EndOfWindows();
        Assert.Equal("{\"visitor-left\":2}", Session("web")[0]["errorsByCode"]);
        Assert.Null(Session("shop")[0]["errorsByCode"]);
        Assert.Equal("{\"visitor-left\":2}", Node[0]["errorsByCode"]);
        Close("web", start: 2, seconds: 1, requests: 1, bytes: 0);
        _feed.EndOfWindows();
        Assert.Null(Node[0]["errorsByCode"]);
    }

    private IReadOnlyList<Shown> Node => Shown.On(_hub, "node.stats");

    private static (string Key, long Sequence, string? Session, string? Requests, string? BytesOut) Of(Shown shown) =>
        (shown.Key, shown.Sequence, shown["session"], shown["requests"], shown["bytesOut"]);

    private IReadOnlyList<Shown> Session(string name) => Shown.On(_hub, $"session.{name}.stats");

    private void Close(string name, long start, int seconds, int requests, ulong bytes, ushort error = RequestErrorCodes.None)
    {
        var cell = new WindowCell();
        for (var i = 0; i < requests; i++)
        {
            cell.Add(new RequestSample(start, 0, 1, 0, bytes, error));
        }

        _feed.OnWindow(_names.GetOrAdd(System.Text.Encoding.ASCII.GetBytes(name)), start, seconds, cell);
    }
}
