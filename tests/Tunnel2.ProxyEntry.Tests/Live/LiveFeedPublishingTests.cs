using System.Diagnostics.Metrics;
using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
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
    private readonly InMemorySessionDirectory _sessions;
    private readonly SharedEventRing _ring;
    private readonly Hub _hub;
    private readonly RequestPublisher _publisher;
    private readonly LiveFeed _feed;
    private bool _isDisposed;

    protected LiveFeedPublishing(int partitions)
    {
        _time.Advance(TimeSpan.FromSeconds(1));
        _sessions = new InMemorySessionDirectory(_time, TimeSpan.Zero);
        _ring = SharedEventRing.Create(Path.Combine(_folder, "ring"), new EventRingOptions { Capacity = 1024, Time = _time });
        _hub = new Hub(new HubLimits(), _meter, _time);
        _publisher = new RequestPublisher(_ring, _time);
        _feed = new LiveFeed(_ring, _hub, _publisher, _sessions, _time, _faults, NullLogger.Instance, partitions);
    }

    [Fact]
    public async Task Requests_of_a_second_are_added_up_for_their_session_and_for_all()
    {
        _feed.Start();
        Publish("web", bytesSent: 10);
        Publish("web", bytesSent: 20);
        Publish("shop", bytesSent: 40);
        await AdvanceUntilAsync(() => Statistics("node.stats").Contains("\"requests\":3", StringComparison.Ordinal));
        Assert.Contains("\"session\":\"web\"", Statistics("session.web.stats"), StringComparison.Ordinal);
        Assert.Contains(
            "\"requests\":2,\"errors\":0,\"bytesIn\":0,\"bytesOut\":30", Statistics("session.web.stats"), StringComparison.Ordinal);
        Assert.Contains(
            "\"requests\":1,\"errors\":0,\"bytesIn\":0,\"bytesOut\":40", Statistics("session.shop.stats"), StringComparison.Ordinal);
        Assert.Contains("\"bytesOut\":70", Statistics("node.stats"), StringComparison.Ordinal);
        Assert.Contains("\"missed\":0,\"late\":0,\"unreadable\":0,\"dropped\":0", Statistics("node.stats"), StringComparison.Ordinal);
        Assert.Equal(0, _faults.Count);
    }

    [Fact]
    public async Task Windows_of_each_length_are_published_once_for_every_session_and_once_for_all_in_their_order()
    {
        _feed.Start();
        for (var i = 0; i < 60; i++)
        {
            Publish($"web{i}", bytesSent: i);
        }

        await AdvanceUntilAsync(() => Sequence("node.stats") == 3);
        for (var i = 0; i < 60; i++)
        {
            AssertWindows($"session.web{i}.stats", 1, i);
        }

        AssertWindows("node.stats", 60, 60 * 59 / 2);
        Assert.Equal(0, _faults.Count);

        void AssertWindows(string channel, int requests, int bytes)
        {
            Assert.Equal(3, Sequence(channel));
            var shown = Statistics(channel);
            var counted = $"\"requests\":{requests},\"errors\":0,\"bytesIn\":0,\"bytesOut\":{bytes},";
            Assert.Equal(3, shown.Split(counted).Length - 1);
            var places = new[] { "1s", "10s", "1m" }.Select(key => shown.IndexOf($"\"key\":\"{key}\"", StringComparison.Ordinal)).ToArray();
            Assert.Equal(places.Order(), places);
            Assert.DoesNotContain(-1, places);
        }
    }

    [Fact]
    public async Task A_request_without_a_session_counts_for_all_and_for_no_session()
    {
        _feed.Start();
        Publish(null, bytesSent: 10);
        Publish("web", bytesSent: 20);
        await AdvanceUntilAsync(() => Statistics("node.stats").Contains("\"requests\":2", StringComparison.Ordinal));
        Assert.Contains("\"requests\":1", Statistics("session.web.stats"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task What_is_no_request_is_counted_and_nothing_else()
    {
        var producer = _ring.CreateProducer();
        _feed.Start();
        Assert.Equal(PublishStatus.Published, producer.TryPublish(999, "nonsense"u8));
        Publish("web", bytesSent: 20);
        await AdvanceUntilAsync(() =>
            Statistics("node.stats") is var shown && shown.Contains("\"requests\":1", StringComparison.Ordinal)
            && shown.Contains("\"unreadable\":1", StringComparison.Ordinal));
        Assert.Equal(0, _faults.Count);
    }

    [Fact]
    public async Task Sessions_are_looked_at_once_a_second_and_published_when_they_change()
    {
        await _sessions.RegisterAsync(Sample.Session("web"), CancellationToken.None);
        _feed.Start();
        await WaitSignal.UntilAsync(() => Sequence("session.web.status") == 1, "the session is published");
        Assert.Contains("\"session\":\"web\",\"online\":true", Statistics("session.web.status"), StringComparison.Ordinal);
        await _sessions.UnregisterAsync("web", 1, isKept: true, CancellationToken.None);
        _time.Advance(TimeSpan.FromSeconds(1));
        await WaitSignal.UntilAsync(() => Sequence("session.web.status") == 2, "its end is published");
        Assert.Contains("\"session\":\"web\",\"online\":false", Statistics("session.web.status"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_feed_that_is_disposed_of_reads_no_more()
    {
        _feed.Start();
        Publish("web", bytesSent: 10);
        await AdvanceUntilAsync(() => Statistics("node.stats").Contains("\"requests\":1", StringComparison.Ordinal));
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

    /// <summary>Moves the clock until a window is closed: the feed reads on a thread of its own.</summary>
    private Task AdvanceUntilAsync(Func<bool> condition) => WaitSignal.UntilAsync(
        () =>
        {
            if (condition())
            {
                return true;
            }

            _time.Advance(TimeSpan.FromMilliseconds(500));
            return false;
        },
        "the window is published");

    private long Sequence(string channel)
    {
        var found = _hub.GetChannel(channel);
        lock (found.Gate)
        {
            return found.SequenceUnsynchronized;
        }
    }

    /// <summary>What a subscriber would see of a channel.</summary>
    private string Statistics(string channel)
    {
        var found = _hub.GetChannel(channel);
        lock (found.Gate)
        {
            return Encoding.UTF8.GetString(found.SnapshotFrameUnsynchronized());
        }
    }
}
