using System.Diagnostics.Metrics;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Requests;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Live;

/// <summary>With one partition, on the feed's own thread.</summary>
public sealed class LiveFeedPublishingTests() : LiveFeedPublishing(partitions: 1);

/// <summary>With several partitions on workers: nothing changes.</summary>
public sealed class PartitionedLiveFeedPublishingTests() : LiveFeedPublishing(partitions: 3);

/// <summary>What the feed makes of the ring: statistics of windows, sessions that come and go. Time moves when a test says so.</summary>
public abstract class LiveFeedPublishing : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-feed-").FullName;
    private readonly Meter _meter = new(HubMetrics.MeterName);
    private readonly ManualTimeProvider _time = new();
    private readonly ContainedFaults _faults = new();
    private readonly WatchedDirectory _sessions;
    private readonly SharedEventRing _ring;
    private readonly Hub _hub;
    private readonly RequestPublisher _publisher;
    private readonly LiveFeed _feed;
    private bool _isDisposed;

    protected LiveFeedPublishing(int partitions)
    {
        _time.Advance(TimeSpan.FromSeconds(1));
        _sessions = new WatchedDirectory(new InMemorySessionDirectory(_time, TimeSpan.Zero));
        _ring = SharedEventRing.Create(Path.Combine(_folder, "ring"), new EventRingOptions { Capacity = 1024, Time = _time });

        // By the real clock: when the other one jumps a minute, a subscriber has not been silent for that long.
        _hub = new Hub(new HubLimits(), _meter, TimeProvider.System);
        _publisher = new RequestPublisher(_ring, _time);
        _feed = new LiveFeed(_ring, _hub, _publisher, _sessions, _time, _faults, NullLogger.Instance, partitions);
    }

    [Fact]
    public async Task Requests_of_a_second_are_added_up_for_their_session_and_for_all()
    {
        using var published = await StartAsync();
        Publish("web", bytesSent: 10);
        Publish("web", bytesSent: 20);
        await UntilShownAsync(published, "web");
        Publish("shop", bytesSent: 40);
        await UntilShownAsync(published, "shop");
        CloseWindow();
        var all = await published.WaitForAsync("node.stats", "\"requests\":3");
        Assert.Contains("\"bytesOut\":70", all, StringComparison.Ordinal);
        Assert.Contains("\"sessions\":0,\"missed\":0,\"late\":0,\"unreadable\":0,\"dropped\":0", all, StringComparison.Ordinal);
        var web = await published.WaitForAsync("session.web.stats");
        Assert.Contains("\"session\":\"web\"", web, StringComparison.Ordinal);
        Assert.Contains("\"requests\":2,\"errors\":0,\"bytesIn\":0,\"bytesOut\":30", web, StringComparison.Ordinal);
        Assert.Contains(
            "\"requests\":1,\"errors\":0,\"bytesIn\":0,\"bytesOut\":40",
            await published.WaitForAsync("session.shop.stats"),
            StringComparison.Ordinal);
        Assert.Equal(0, _faults.Count);
    }

    [Fact]
    public async Task Windows_of_each_length_are_published_once_for_every_session_and_once_for_all_in_their_order()
    {
        using var published = await StartAsync();
        Publish("web0", bytesSent: 7);
        await UntilShownAsync(published, "web0");
        for (var i = 1; i < 60; i++)
        {
            Publish($"web{i}", bytesSent: i);
        }

        // Requests of this session are shown as they are read: the ones before it were read too.
        Publish("web0", bytesSent: 8);
        await published.WaitForAsync("session.web0.requests", "\"key\":\"1\"");
        CloseWindow();
        _time.Advance(TimeSpan.FromMinutes(1));
        await published.WaitForAsync("node.stats", "\"key\":\"1m\"");
        AssertWindows("session.web0.stats", 2, 15);
        for (var i = 1; i < 60; i++)
        {
            AssertWindows($"session.web{i}.stats", 1, i);
        }

        AssertWindows("node.stats", 61, (60 * 59 / 2) + 15);
        Assert.Equal(0, _faults.Count);

        void AssertWindows(string channel, int requests, int bytes)
        {
            var shown = published.Of(channel);
            Assert.Equal(3, shown.Count);
            Assert.All(
                shown.Zip(["1s", "10s", "1m"]),
                pair =>
                {
                    Assert.Contains($"\"key\":\"{pair.Second}\"", pair.First, StringComparison.Ordinal);
                    Assert.Contains(
                        $"\"requests\":{requests},\"errors\":0,\"bytesIn\":0,\"bytesOut\":{bytes},", pair.First, StringComparison.Ordinal);
                });
        }
    }

    /// <summary>An hour of the old clock lies before the new one: without a new beginning all requests of it would be late.</summary>
    [Fact]
    public async Task After_the_clock_was_set_back_requests_count_in_windows_of_the_new_time()
    {
        using var published = await StartAsync();
        Publish("web", bytesSent: 1);
        await UntilShownAsync(published, "web");
        CloseWindow();
        await published.WaitForAsync("session.web.stats", "\"bytesOut\":1,");
        await LookAsync(2);
        _time.Set(TimeSpan.FromHours(-1));

        // A look notices it, the next one is the last of the old time, and the new time begins with one.
        _time.Advance(TimeSpan.FromSeconds(1));
        await LookAsync(3);
        _time.Advance(TimeSpan.FromSeconds(1));
        await LookAsync(5);
        var second = _time.GetUtcNow().ToUnixTimeSeconds();
        Publish("shop", bytesSent: 2);
        await UntilShownAsync(published, "shop");
        CloseWindow();
        var shop = await published.WaitForAsync("session.shop.stats", "\"bytesOut\":2,");
        Assert.Contains($"\"startUs\":{second}", shop, StringComparison.Ordinal);
        var all = await published.WaitForAsync("node.stats", "\"bytesOut\":2,");
        Assert.Contains("\"late\":0", all, StringComparison.Ordinal);
        _time.Advance(TimeSpan.FromSeconds(10));
        await published.WaitForAsync("node.history", $"\"startMs\":{second / 100}");
        Assert.Equal(0, _faults.Count);

        // Each look publishes the agents once.
        Task<string> LookAsync(int number) => published.WaitForAsync("node.agents", $"\"seq\":{number},");
    }

    [Fact]
    public async Task A_request_without_a_session_counts_for_all_and_for_no_session()
    {
        using var published = await StartAsync();
        Publish("web", bytesSent: 20);
        await UntilShownAsync(published, "web");
        Publish(null, bytesSent: 10);
        Publish("web", bytesSent: 20);
        await published.WaitForAsync("session.web.requests", "\"key\":\"1\"");
        CloseWindow();
        await published.WaitForAsync("node.stats", "\"requests\":3");
        Assert.Contains("\"requests\":2", await published.WaitForAsync("session.web.stats"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task What_is_no_request_is_counted_and_nothing_else()
    {
        var producer = _ring.CreateProducer();
        using var published = await StartAsync();
        Assert.Equal(PublishStatus.Published, producer.TryPublish(999, "nonsense"u8));
        Publish("web", bytesSent: 20);
        await UntilShownAsync(published, "web");
        CloseWindow();
        Assert.Contains("\"unreadable\":1", await published.WaitForAsync("node.stats", "\"requests\":1"), StringComparison.Ordinal);
        Assert.Equal(0, _faults.Count);
    }

    [Fact]
    public async Task Sessions_are_looked_at_once_a_second_and_published_when_they_change()
    {
        await _sessions.RegisterAsync(Sample.Session("web"), CancellationToken.None);
        using var published = await StartAsync();
        await published.WaitForAsync("session.web.status", "\"session\":\"web\",\"online\":true");
        await _sessions.UnregisterAsync("web", 1, isKept: true, CancellationToken.None);
        _time.Advance(TimeSpan.FromSeconds(1));
        await published.WaitForAsync("session.web.status", "\"session\":\"web\",\"online\":false");
        Assert.Equal(2, Sequence("session.web.status"));
    }

    [Fact]
    public async Task A_feed_that_is_disposed_of_reads_no_more()
    {
        using var published = await StartAsync();
        Publish("web", bytesSent: 10);
        await UntilShownAsync(published, "web");
        CloseWindow();
        await published.WaitForAsync("node.stats", "\"requests\":1");
        DisposeOfFeed();
        var before = Sequence("node.stats");
        Publish("web", bytesSent: 10);
        _time.Advance(TimeSpan.FromSeconds(10));
        Assert.Equal(before, Sequence("node.stats"));
        Assert.Equal(0, _faults.Count);
    }

    [Fact]
    public void A_feed_that_never_started_can_be_disposed_of() => DisposeOfFeed();

    public void Dispose()
    {
        GC.SuppressFinalize(this);
        DisposeOfFeed();
        _hub.Dispose();
        _ring.Dispose();
        _meter.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    private void DisposeOfFeed()
    {
        if (!_isDisposed)
        {
            _isDisposed = true;
            _feed.Dispose();
        }
    }

    private void Publish(string? session, long bytesSent)
    {
        var request = new ForwardedRequest { Status = 200 };
        request.Begin(_time);
        request.Session = session is null ? null : Sample.Session(session);
        request.BytesSent = bytesSent;
        request.Times.MarkHeadSent();
        request.HeadArrived(200, request.Times.Now());
        request.Times.MarkEnded();
        _publisher.OnEnded(new SampleExchange(), request, RequestOutcome.Completed);
    }

    /// <summary>Starts the feed and waits for its first look at the sessions: from now on it acts when the clock moves.</summary>
    private async Task<HubRecorder> StartAsync()
    {
        var published = await HubRecorder.StartAsync(_hub);
        _feed.Start();
        await _sessions.Looks.WaitForAsync(1);
        return published;
    }

    /// <summary>
    /// Waits until the first request of a session was read and is shown. Every 200 ms of its clock the feed looks for sessions that are
    /// new, and the clock moves only here: only one session may be new, or a look between two of them would find one and be the last.
    /// </summary>
    private async Task UntilShownAsync(HubRecorder published, string session)
    {
        _time.Advance(TimeSpan.FromMilliseconds(250));
        await published.WaitForAsync($"session.{session}.requests");
    }

    /// <summary>Moves the clock past the window of the requests. Before that they must have been read, or they would be late.</summary>
    private void CloseWindow() => _time.Advance(TimeSpan.FromSeconds(2));

    private long Sequence(string channel) => _hub.GetChannel(channel).SequenceUnsynchronized;
}
