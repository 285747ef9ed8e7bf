using System.Diagnostics.Metrics;
using System.Net;
using System.Net.Sockets;
using System.Text.Json;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Live;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Dashboard;

/// <summary>What the dashboard is sent. The test is the feed's thread.</summary>
public sealed class DashboardFeedTests : IDisposable
{
    private readonly Meter _meter = new(HubMetrics.MeterName);
    private readonly ManualTimeProvider _time = new();
    private readonly ListedSessions _sessions = new();
    private readonly Hub _hub;
    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly HubClient _client;
    private readonly DashboardFeed _feed;

    public DashboardFeedTests()
    {
        _hub = new Hub(new HubLimits(), _meter, _time);
        _client = _hub.Add(_socket);
        _feed = new DashboardFeed(
            _hub, _sessions, _time, addresses: new PublicAddresses(SettingsFixture.LoadValid("Public:Url=https://{name}.{Domain}")));
    }

    public void Dispose()
    {
        _feed.Dispose();
        _hub.Dispose();
        _socket.Dispose();
        _meter.Dispose();
    }

    [Fact]
    public void A_sample_of_history_has_the_seconds_that_it_names()
    {
        Pass(7);
        Second(9, 100);
        Second(10, 1);
        Second(14, 2, RequestErrorCodes.BackendStatus);
        Pass(15);
        Assert.Equal(2, History.Count);
        Assert.Equal(("7000", "3", "100"), (History[0]["startMs"], History[0]["seconds"], History[0]["requests"]));
        var sample = History[1];
        Assert.Equal(("10000", "5", "3", "2", "{\"backend-5xx\":2}"),
            (sample["startMs"], sample["seconds"], sample["requests"], sample["errors"], sample["errorsByCode"]));
        Pass(20);
        Assert.Equal(("15000", "0"), (History[2]["startMs"], History[2]["requests"]));
    }

    [Fact]
    public void Windows_of_the_next_sample_may_come_before_the_watermark()
    {
        Pass(0);
        Second(6, 1);
        Second(11, 2);
        Pass(15);
        Assert.Equal([("0", "0"), ("5000", "1"), ("10000", "2")], History.Select(static one => (one["startMs"], one["requests"])));
    }

    [Fact]
    public void A_time_for_which_nothing_is_known_has_no_sample()
    {
        Pass(0);
        Pass(10);
        Pass(1000);
        Pass(1005);
        Assert.Equal(["0", "10000", "1000000"], History.Select(static one => one["startMs"]));
    }

    [Fact]
    public void Fifteen_minutes_are_kept()
    {
        for (var second = 0; second <= 2000; second += 5)
        {
            Pass(second);
        }

        Assert.Equal(180, NodeHistory.Samples);
        Assert.Equal(180, History.Count);
        Assert.Equal(("1100000", "1995000"), (History[0]["startMs"], History[^1]["startMs"]));
    }

    [Fact]
    public void The_end_of_a_numbering_is_no_end_of_time()
    {
        Pass(0);
        _feed.AdvanceTo(long.MaxValue);
        _feed.AdvanceTo(long.MinValue);
        Pass(10);
        Assert.Single(History);
    }

    [Fact]
    public async Task Sessions_come_in_one_message_and_only_while_a_page_follows_them()
    {
        Session("web", 1, 5);
        Pass(2);
        Assert.Empty(Shown.On(_hub, "node.sessions"));
        await WatchAsync("node.sessions");
        _feed.Look(0, [], 0);
        Session("web", 2, 5);
        Session("shop", 2, 7);
        Assert.Empty(Shown.On(_hub, "node.sessions"));
        Pass(3);
        var message = Assert.Single(Shown.On(_hub, "node.sessions"));
        Assert.Equal(("2000", "0"), (message["startMs"], message["left"]));
        Assert.Equal(
            [("web", 5), ("shop", 7)],
            message.Data.GetProperty("sessions").EnumerateArray().Select(
                static one => (one.GetProperty("session").GetString(), one.GetProperty("requests").GetInt32())));
    }

    [Fact]
    public async Task Of_very_many_sessions_those_with_the_most_requests_come()
    {
        await WatchAsync("node.sessions");
        _feed.Look(0, [], 0);
        for (var i = 0; i < SessionRates.Most + 5; i++)
        {
            Session($"s{i}", 1, i == 3 ? 9 : 1);
        }

        Pass(2);
        var message = Assert.Single(Shown.On(_hub, "node.sessions"));
        Assert.Equal("5", message["left"]);
        Assert.Equal(SessionRates.Most, message.Data.GetProperty("sessions").GetArrayLength());
        Assert.Equal("s3", message.Data.GetProperty("sessions")[0].GetProperty("session").GetString());
    }

    [Fact]
    public async Task Agents_come_with_those_that_are_away_and_only_while_a_page_follows_them()
    {
        _sessions.All.Add(Sample.Session("web"));
        _feed.Look(1, [("gone", 5)], 0);
        Assert.Empty(Shown.On(_hub, "node.agents"));
        await WatchAsync("node.agents");
        _feed.Look(1, [("gone", 5)], 0);
        var agents = Assert.Single(Shown.On(_hub, "node.agents")).Data.GetProperty("agents");
        Assert.Equal([("web", true), ("gone", false)], agents.EnumerateArray().Select(
            static one => (one.GetProperty("session").GetString(), one.GetProperty("online").GetBoolean())));
        Assert.Equal(5, agents[1].GetProperty("lastSeenMs").GetInt64());
        Assert.Equal(0, agents[0].GetProperty("uplinks").GetArrayLength());
        Assert.Equal(["https://web.localhost"], agents[0].GetProperty("urls").EnumerateArray().Select(static one => one.GetString()));
    }

    [Fact]
    public void Alerts_are_published_when_they_change()
    {
        _feed.Look(0, [], 0);
        var first = Assert.Single(Shown.On(_hub, "node.alerts"));
        Assert.Equal("[]", first["alerts"]);
        _feed.Look(0, [], 0);
        Assert.Equal(1, Assert.Single(Shown.On(_hub, "node.alerts")).Sequence);
        _feed.Look(0, [("web", 7)], 0);
        var changed = Assert.Single(Shown.On(_hub, "node.alerts"));
        Assert.Equal((2L, "[{\"kind\":\"offline\",\"sinceMs\":7,\"subject\":\"web\"}]"), (changed.Sequence, changed["alerts"]));
    }

    [Fact]
    public void A_certificate_that_is_refused_is_an_alert_with_its_reason_until_it_is_not()
    {
        using var alerts = new NodeAlerts(_hub, _time);
        var began = _time.GetUtcNow().ToUnixTimeMilliseconds();
        Look(2, new CertificateRefusal("www.example.test", "the authority says no"));
        _time.Advance(TimeSpan.FromMinutes(1));
        Look(1, new CertificateRefusal("www.example.test", "the authority says no"));
        var sent = JsonDocument.Parse(Alerts).RootElement[0];
        Assert.Equal(
            ("certificate-refused", "www.example.test", "the authority says no", 1, began),
            (sent.GetProperty("kind").GetString(), sent.GetProperty("subject").GetString(), sent.GetProperty("text").GetString(),
                sent.GetProperty("value").GetInt32(), sent.GetProperty("sinceMs").GetInt64()));
        Look(0, null);
        Assert.Equal("[]", Alerts);

        void Look(int count, CertificateRefusal? first) => alerts.Look([], 0, false, null, [], (count, first));
    }

    [Fact]
    public async Task Rules_about_visitors_and_what_they_refused_come_with_the_agent()
    {
        var session = Sample.Session("web");
        session.Access = new AccessPolicy([new AccessSet([], [IPNetwork.Parse("10.0.0.0/8")], [])], session.Logins);
        session.CountTurnedAway();
        _sessions.All.Add(session);
        _sessions.All.Add(Sample.Session("open"));
        await WatchAsync("node.agents");
        _feed.Look(2, [], 0);
        var agents = Assert.Single(Shown.On(_hub, "node.agents")).Data.GetProperty("agents");
        var access = agents.EnumerateArray().Single(static one => one.GetProperty("session").GetString() == "web").GetProperty("access");
        Assert.Equal(
            (false, false, false, true, 1),
            (access.GetProperty("login").GetBoolean(), access.GetProperty("token").GetBoolean(),
                access.GetProperty("signIn").GetBoolean(), access.GetProperty("addresses").GetBoolean(),
                access.GetProperty("refused").GetInt32()));
        Assert.Single(agents.EnumerateArray(), static one => !one.TryGetProperty("access", out _));
    }

    [Fact]
    public void Records_that_are_missing_are_an_alert_for_a_minute()
    {
        _feed.Look(0, [], 12);
        Assert.Contains("\"kind\":\"missed\"", Alerts, StringComparison.Ordinal);
        Assert.Contains("\"value\":12", Alerts, StringComparison.Ordinal);
        _time.Advance(TimeSpan.FromSeconds(61));
        _feed.Look(0, [], 12);
        Assert.Equal("[]", Alerts);
        _feed.Look(0, [], 13);
        Assert.Contains("\"value\":13", Alerts, StringComparison.Ordinal);
    }

    [Fact]
    public void More_alerts_than_a_page_can_show_are_counted()
    {
        _feed.Look(0, [.. Enumerable.Range(0, NodeAlerts.Most + 3).Select(static i => ($"s{i}", 1L))], 0);
        Assert.Equal("3", Assert.Single(Shown.On(_hub, "node.alerts"))["more"]);
    }

    [Fact]
    public void A_session_that_fails_is_an_alert()
    {
        var cell = Cell(10, RequestErrorCodes.BackendStatus);
        var now = _time.GetUtcNow().ToUnixTimeMilliseconds() * 1000;
        _feed.OnSession("web", cell.ToResult(0, now, 1), cell);
        _feed.Look(0, [], 0);
        Assert.Contains("\"subject\":\"web\",\"leg\":\"backend\",\"code\":\"backend-5xx\"", Alerts, StringComparison.Ordinal);
    }

    private IReadOnlyList<Shown> History => Shown.On(_hub, "node.history");

    private string Alerts => Assert.Single(Shown.On(_hub, "node.alerts"))["alerts"]!;

    private async Task WatchAsync(string channel) =>
        Assert.Equal(SubscribeStatus.Subscribed, await _hub.SubscribeAsync(_client, channel, static () => { }));

    private void Pass(long second) => _feed.AdvanceTo(second * WatermarkFilter.Second);

    private void Second(long second, int requests, ushort error = 0)
    {
        var cell = Cell(requests, error);
        _feed.OnNode(cell.ToResult(0, second * WatermarkFilter.Second, 1), cell);
    }

    private void Session(string name, long second, int requests)
    {
        var cell = Cell(requests, 0);
        _feed.OnSession(name, cell.ToResult(0, second * WatermarkFilter.Second, 1), cell);
    }

    private static WindowCell Cell(int requests, ushort error)
    {
        var cell = new WindowCell();
        for (var i = 0; i < requests; i++)
        {
            cell.Add(new RequestSample(0, 0, 1000, 1, 2, error));
        }

        return cell;
    }
}
