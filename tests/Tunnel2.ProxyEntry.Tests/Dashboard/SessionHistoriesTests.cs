using System.Diagnostics.Metrics;
using System.Net.Sockets;
using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.ProxyEntry.Tests.Live;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Dashboard;

/// <summary>What a session's page is served when it is opened later. The test is the feed's thread.</summary>
public sealed class SessionHistoriesTests : IDisposable
{
    private readonly Meter _meter = new(HubMetrics.MeterName);
    private readonly ManualTimeProvider _time = new();
    private readonly ListedSessions _sessions = new();
    private readonly Hub _hub;
    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly HubClient _client;
    private readonly SessionHistories _histories;

    public SessionHistoriesTests()
    {
        _hub = new Hub(new HubLimits { Subscriptions = 1000 }, _meter, _time);
        _client = _hub.Add(_socket);
        _histories = new SessionHistories(_hub, _sessions, _time);
    }

    public void Dispose()
    {
        _histories.Dispose();
        _hub.Dispose();
        _socket.Dispose();
        _meter.Dispose();
    }

    [Fact]
    public async Task A_page_that_comes_later_gets_all_that_is_known_and_then_each_time_that_passes()
    {
        Pass(3);
        Pass(10);
        Add("web", 10, 7, RequestErrorCodes.BackendStatus);
        Pass(20);
        Pass(30);
        Assert.Empty(Published("web"));
        await WatchAsync("web");
        var all = Assert.Single(Published("web"));
        Assert.Equal(("all", "web"), (all.Key, all["session"]));
        Assert.Equal([(0, 0), (10_000, 7), (20_000, 0)], Samples(all));
        var sample = all.Data.GetProperty("samples")[1];
        Assert.Equal(("{\"backend-5xx\":7}", 10, 7), (
            sample.GetProperty("errorsByCode").GetRawText(), sample.GetProperty("seconds").GetInt32(),
            sample.GetProperty("errors").GetInt32()));

        Add("web", 30, 5);
        Pass(41);
        Pass(49);
        Pass(50);
        Assert.Equal([("3", "30000", "5"), ("4", "40000", "0")],
            Published("web").Skip(1).Select(static one => (one.Key, one["startMs"], one["requests"])));
    }

    [Fact]
    public async Task Without_a_page_nothing_is_published_and_the_next_page_gets_all_again()
    {
        Pass(0);
        Add("web", 0, 1);
        Pass(10);
        await WatchAsync("web");
        Assert.Equal([(0, 1)], Samples(Assert.Single(Published("web"))));
        Assert.True(_hub.Unsubscribe(_client, History("web")));
        Look();
        Assert.Empty(Published("web"));
        Add("web", 10, 2);
        Pass(20);
        Assert.Empty(Published("web"));
        await WatchAsync("web");
        Assert.Equal([(0, 1), (10_000, 2)], Samples(Assert.Single(Published("web"))));
    }

    [Fact]
    public async Task A_session_without_a_request_has_a_history_of_none_and_is_forgotten_with_its_page()
    {
        Pass(0);
        Pass(10);
        _sessions.All.Add(Sample.Session("idle"));
        await WatchAsync("idle");
        Assert.Equal([(0, 0)], Samples(Assert.Single(Published("idle"))));
        Assert.Equal(1, _histories.Count);
        await WatchAsync("stranger");
        Assert.Empty(Published("stranger"));
        _hub.Unsubscribe(_client, History("idle"));
        Look();
        Assert.Equal(0, _histories.Count);
    }

    [Fact]
    public async Task A_page_may_be_there_before_its_session()
    {
        Pass(0);
        await WatchAsync("registered");
        await WatchAsync("asked");
        _sessions.All.Add(Sample.Session("registered"));
        Look();
        Assert.Single(Published("registered"));
        Add("asked", 0, 1);
        Look();
        Assert.Single(Published("asked"));
    }

    [Fact]
    public async Task Fifteen_minutes_are_kept_and_older_sessions_are_forgotten()
    {
        Pass(0);
        Add("old", 0, 1);
        for (var second = 0; second < 1000; second += 10)
        {
            Add("web", second, 1);
            Pass(second + 10);
        }

        Assert.Equal(90, SessionHistories.Samples);
        Assert.Equal(1, _histories.Count);
        await WatchAsync("web");
        var samples = Samples(Assert.Single(Published("web")));
        Assert.Equal((90, (100_000, 1), (990_000, 1)), (samples.Count, samples[0], samples[^1]));
    }

    [Fact]
    public async Task Of_too_many_sessions_those_are_forgotten_whose_last_request_is_the_oldest()
    {
        Pass(0);
        for (var i = 0; i < SessionHistories.MostSessions; i++)
        {
            Add($"s{i}", 0, 1);
        }

        Pass(10);
        Add("s0", 10, 1);
        Pass(20);
        Add("new", 20, 1);
        Add("s1", 20, 2);
        Pass(30);
        Assert.Equal(SessionHistories.MostSessions, _histories.Count);
        await WatchAsync("s0");
        Assert.Equal([(0, 1), (10_000, 1), (20_000, 0)], Samples(Assert.Single(Published("s0"))));

        // What it did before is not known any more, and is no zero.
        await WatchAsync("s1");
        Assert.Equal([(10_000, 0), (20_000, 2)], Samples(Assert.Single(Published("s1"))));
    }

    [Fact]
    public async Task What_is_watched_is_not_forgotten()
    {
        Pass(0);
        Add("web", 0, 1);
        await WatchAsync("web");
        for (var i = 0; i <= SessionHistories.MostSessions; i++)
        {
            Add($"s{i}", 0, 1);
        }

        Pass(10);
        Assert.Equal(SessionHistories.MostSessions, _histories.Count);
        Assert.Equal(["all", "0"], Published("web").Select(static one => one.Key));
    }

    [Fact]
    public async Task Of_a_pattern_a_bounded_number_is_published()
    {
        Pass(0);
        for (var i = 0; i < SessionHistories.MostWatched + 7; i++)
        {
            Add($"s{i}", 0, 1);
        }

        Pass(10);
        await WatchAsync("*");
        Assert.Equal(
            SessionHistories.MostWatched,
            Enumerable.Range(0, SessionHistories.MostWatched + 7).Count(i => Published($"s{i}").Count == 1));
    }

    [Fact]
    public async Task After_a_jump_of_the_clock_nothing_is_known_of_the_time_between()
    {
        Pass(0);
        Pass(10);
        await WatchAsync("web");
        Pass(1000);
        Pass(1010);
        Add("web", 1010, 1);
        Pass(1020);
        await WatchAsync("web");
        Assert.Equal([(1_000_000, 0), (1_010_000, 1)], Samples(Published("web")[0]));
    }

    [Fact]
    public async Task A_time_that_a_new_numbering_has_divided_is_one_sample()
    {
        Pass(0);
        Add("web", 0, 3);
        Add("web", 0, 4);
        Pass(10);
        await WatchAsync("web");
        Assert.Equal([(0, 7)], Samples(Assert.Single(Published("web"))));
    }

    [Fact]
    public async Task A_sample_has_the_most_frequent_errors()
    {
        Pass(0);
        var cell = new WindowCell();
        var codes = Enumerable.Range(1, 40).Select(static i => (ushort)i).Where(static code => RequestErrorCodes.Name(code) is not null)
            .Take(SessionHistories.MostCodes + 2).ToList();
        for (var i = 0; i < codes.Count; i++)
        {
            for (var count = 0; count <= i; count++)
            {
                cell.Add(new RequestSample(0, 0, 1000, 1, 2, codes[i]));
            }
        }

        _histories.Add("web", cell.ToResult(0, 0, SessionHistories.Seconds), cell);
        Pass(10);
        await WatchAsync("web");
        var errors = Assert.Single(Published("web")).Data.GetProperty("samples")[0].GetProperty("errorsByCode").EnumerateObject().ToList();
        Assert.Equal(SessionHistories.MostCodes, errors.Count);
        Assert.Equal((RequestErrorCodes.Name(codes[^1]), codes.Count), (errors[0].Name, errors[0].Value.GetInt32()));
    }

    private static string History(string session) => $"session.{session}.history";

    private static List<(long StartMs, long Requests)> Samples(Shown all) =>
    [
        .. all.Data.GetProperty("samples").EnumerateArray().Select(
            static one => (one.GetProperty("startMs").GetInt64(), one.GetProperty("requests").GetInt64())),
    ];

    private IReadOnlyList<Shown> Published(string session) => Shown.On(_hub, History(session));

    private async Task WatchAsync(string session)
    {
        Assert.Equal(SubscribeStatus.Subscribed, await _hub.SubscribeAsync(_client, History(session), static () => { }));
        Look();
    }

    private void Look()
    {
        _time.Advance(TimeSpan.FromSeconds(1));
        _histories.Follow();
    }

    private void Pass(long second) => _histories.AdvanceTo(second * WatermarkFilter.Second);

    private void Add(string session, long second, int requests, ushort error = 0)
    {
        var cell = new WindowCell();
        for (var i = 0; i < requests; i++)
        {
            cell.Add(new RequestSample(0, 0, 1000, 1, 2, error));
        }

        _histories.Add(session, cell.ToResult(0, second * WatermarkFilter.Second, SessionHistories.Seconds), cell);
    }
}
