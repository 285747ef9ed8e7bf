using System.Diagnostics.Metrics;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Live;

public sealed class SessionStatusFeedTests : IDisposable
{
    private readonly Meter _meter = new(HubMetrics.MeterName);
    private readonly ManualTimeProvider _time = new();
    private readonly ListedSessions _directory = new();
    private readonly Hub _hub;
    private readonly SessionStatusFeed _feed;

    public SessionStatusFeedTests()
    {
        _hub = new Hub(new HubLimits(), _meter, _time);
        _feed = new SessionStatusFeed(_hub, _directory, _time);
    }

    public void Dispose()
    {
        _hub.Dispose();
        _meter.Dispose();
    }

    [Fact]
    public void A_session_is_published_when_it_comes_and_when_it_goes_and_not_in_between()
    {
        _directory.All.Add(Sample.Session("web"));
        for (var look = 0; look < 3; look++)
        {
            _feed.Look();
            Assert.Equal((1L, "true", "0", "0"), (Status.Sequence, Status["online"], Status["uplinks"], Status["agent"]));
            Assert.Equal(1, _feed.Online);
        }

        _directory.All.Clear();
        for (var look = 0; look < 3; look++)
        {
            _feed.Look();
            Assert.Equal((2L, "false", null), (Status.Sequence, Status["online"], Status["uplinks"]));
            Assert.Equal(0, _feed.Online);
        }

        _directory.All.Add(Sample.Session("web"));
        _feed.Look();
        Assert.Equal((3L, "true"), (Status.Sequence, Status["online"]));
    }

    [Fact]
    public void A_name_without_its_session_is_gone_since_the_look_that_missed_it_until_it_is_back()
    {
        _directory.All.Add(Sample.Session("web"));
        _feed.Look();
        _feed.ChannelOf("short", "stats");
        Assert.Empty(_feed.Gone());
        _directory.All.Clear();
        _feed.Look();
        var since = _time.GetUtcNow().ToUnixTimeMilliseconds();
        _time.Advance(TimeSpan.FromSeconds(5));
        Assert.Equal([("web", since)], _feed.Gone());
        _directory.All.Add(Sample.Session("web"));
        _feed.Look();
        Assert.Empty(_feed.Gone());
    }

    [Fact]
    public Task Another_uplink_is_published_and_another_agent_of_the_same_name() => TestEngine.RunAsync(EngineKind.Inline, engine =>
    {
        var session = Sample.Session("web");
        _directory.All.Add(session);
        _feed.Look();
        Assert.True(session.Tunnel.TryAdd(new UplinkPair(engine, static _ => Task.CompletedTask).Entry));
        _feed.Look();
        Assert.Equal((2L, "1"), (Status.Sequence, Status["uplinks"]));
        var next = Sample.Session("web");
        Assert.True(next.Tunnel.TryAdd(new UplinkPair(engine, static _ => Task.CompletedTask).Entry));
        _directory.All[0] = next;
        _feed.Look();
        Assert.Equal((3L, "1", next.DisplayId), (Status.Sequence, Status["uplinks"], Status["sessionId"]));
        return Task.CompletedTask;
    });

    [Fact]
    public void A_name_is_forgotten_when_its_session_has_been_gone_for_more_than_ten_minutes()
    {
        _directory.All.AddRange([Sample.Session("web"), Sample.Session("stays")]);
        _feed.Look();
        _time.Advance(TimeSpan.FromHours(1));
        _directory.All.RemoveAt(0);
        _feed.Look();
        var (status, stays) = (_hub.GetChannel("session.web.status"), _hub.GetChannel("session.stays.status"));
        var stats = _feed.ChannelOf("web", "stats");
        _time.Advance(TimeSpan.FromMinutes(10));
        _feed.Look();
        Assert.Same(status, _hub.GetChannel("session.web.status"));
        _time.Advance(TimeSpan.FromTicks(1));
        _feed.Look();
        Assert.NotSame(status, _hub.GetChannel("session.web.status"));
        Assert.NotSame(stats, _hub.GetChannel("session.web.stats"));
        Assert.NotSame(stats, _feed.ChannelOf("web", "stats"));
        Assert.Same(stays, _hub.GetChannel("session.stays.status"));
    }

    [Fact]
    public void The_name_of_a_session_that_no_look_has_seen_is_forgotten_as_well()
    {
        _time.Advance(TimeSpan.FromHours(1));
        var channel = _feed.ChannelOf("short", "stats");
        Assert.Same(channel, _feed.ChannelOf("short", "stats"));
        _feed.Look();
        _time.Advance(TimeSpan.FromMinutes(10));
        _feed.Look();
        Assert.Same(channel, _feed.ChannelOf("short", "stats"));
        _time.Advance(TimeSpan.FromTicks(1));
        _feed.Look();
        Assert.Same(channel, _feed.ChannelOf("short", "stats"));
        _feed.Look();
        _feed.Look();
        Assert.NotSame(channel, _feed.ChannelOf("short", "stats"));
        Assert.Empty(Shown.On(_hub, "session.short.status"));
    }

    private Shown Status => Assert.Single(Shown.On(_hub, "session.web.status"));
}
