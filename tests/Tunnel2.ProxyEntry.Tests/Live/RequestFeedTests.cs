using System.Diagnostics.Metrics;
using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Live;

/// <summary>Which requests a viewer of a session is shown. The test is the feed's thread.</summary>
public sealed class RequestFeedTests : IDisposable
{
    private static readonly TimeSpan _look = TimeSpan.FromMilliseconds(200);

    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-feed-").FullName;
    private readonly Meter _meter = new(HubMetrics.MeterName);
    private readonly ManualTimeProvider _time = new();
    private readonly SessionKeyTable _names = new();
    private readonly SharedEventRing _ring;
    private readonly EventRingProducer _producer;
    private readonly EventRingReader _reader;
    private readonly Hub _hub;
    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly HubClient _client;
    private RequestFeed _feed;

    public RequestFeedTests()
    {
        _ring = SharedEventRing.Create(Path.Combine(_folder, "ring"), new EventRingOptions { Capacity = 1024, Time = _time });
        _producer = _ring.CreateProducer();
        _reader = _ring.CreateReader(new EventRingReaderOptions());
        _hub = new Hub(new HubLimits(), _meter, _time);
        _client = _hub.Add(_socket);
        _feed = CreateFeed(from: 0);
    }

    public void Dispose()
    {
        _hub.Dispose();
        _socket.Dispose();
        _reader.Dispose();
        _ring.Dispose();
        _meter.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    [Fact]
    public async Task Without_a_watcher_nothing_is_published()
    {
        Request("web", "/1");
        EndOfBatch();
        Request("web", "/2");
        Assert.Empty(Shown.On(_hub, "session.web.requests"));
        await WatchAsync("session.shop.requests");
        EndOfBatch();
        Request("web", "/3");
        Assert.Empty(Shown.On(_hub, "session.web.requests"));
    }

    [Fact]
    public async Task Who_begins_to_watch_is_shown_the_last_twenty_and_then_each_once()
    {
        for (var i = 1; i <= 25; i++)
        {
            Request("web", $"/{i}");
            Request("shop", $"/{i}");
        }

        await WatchAsync("session.web.requests");
        EndOfBatch();
        Assert.Equal(Enumerable.Range(6, 20).Select(static i => $"/{i}"), Targets("web"));
        Assert.Equal(
            Enumerable.Range(0, 20).Select(static i => i.ToString(CultureInfo.InvariantCulture)),
            Shown.On(_hub, "session.web.requests").Select(static shown => shown.Key));
        Request("web", "/26");
        Request("shop", "/26");
        Assert.Equal(Enumerable.Range(7, 20).Select(static i => $"/{i}"), Targets("web"));
        Assert.Equal(("0", 21L, "50"), Last("web"));
        Request("web", "/27");
        Assert.Equal(("1", 22L, "52"), Last("web"));
        Assert.Empty(Shown.On(_hub, "session.shop.requests"));
    }

    [Fact]
    public async Task What_a_predecessor_has_shown_is_not_shown_again()
    {
        Request("web", "/1");
        Request("web", "/2");
        _feed = CreateFeed(from: _reader.Cursor);
        Request("web", "/3");
        await WatchAsync("session.web.requests");
        EndOfBatch();
        Assert.Equal(["/3"], Targets("web"));
    }

    [Fact]
    public async Task What_came_while_no_page_watched_is_shown_later_and_nothing_twice()
    {
        await WatchAsync("session.web.requests");
        Request("web", "/1");
        EndOfBatch();
        Assert.True(_hub.Unsubscribe(_client, "session.web.requests"));
        _time.Advance(_look);
        EndOfBatch();
        Request("web", "/2");
        Assert.Equal(["/1"], Targets("web"));
        await WatchAsync("session.web.requests");
        _time.Advance(_look);
        EndOfBatch();
        Assert.Equal(["/1", "/2"], Targets("web"));
        Request("web", "/3");
        Assert.Equal(["/1", "/2", "/3"], Targets("web"));
        Assert.Equal(3, Last("web").Sequence);
    }

    [Fact]
    public async Task It_looks_for_those_who_watch_five_times_a_second()
    {
        Request("web", "/1");
        EndOfBatch();
        await WatchAsync("session.*.requests");
        _time.Advance(_look - TimeSpan.FromTicks(1));
        EndOfBatch();
        Assert.Empty(Targets("web"));
        _time.Advance(TimeSpan.FromTicks(1));
        EndOfBatch();
        Assert.Equal(["/1"], Targets("web"));

        // A name that was never heard of before is news as well.
        Request("shop", "/1");
        _time.Advance(_look);
        EndOfBatch();
        Assert.Equal(["/1"], Targets("shop"));
    }

    [Fact]
    public async Task Each_of_many_names_is_watched_except_that_of_requests_without_a_session()
    {
        await WatchAsync("session.*.requests");
        Request(RequestPublisher.NoSession, "/1");
        for (var i = 0; i < 200; i++)
        {
            Request($"s{i}", "/1");
        }

        EndOfBatch();
        Request(RequestPublisher.NoSession, "/2");
        Assert.Empty(Shown.On(_hub, $"session.{RequestPublisher.NoSession}.requests"));
        for (var i = 0; i < 200; i++)
        {
            Request($"s{i}", "/2");
            Assert.Equal(["/1", "/2"], Targets($"s{i}"));
        }
    }

    [Fact]
    public async Task Of_a_second_500_requests_are_shown_and_the_next_says_how_many_were_not()
    {
        await WatchAsync("session.web.requests");
        Request("web", "/0");
        EndOfBatch();
        for (var i = 2; i <= 500; i++)
        {
            Request("web", $"/{i}");
        }

        Assert.Equal(500, Last("web").Sequence);
        Request("web", "/501");
        Request("web", "/502");
        Assert.Equal(500, Last("web").Sequence);
        _time.Advance(TimeSpan.FromSeconds(1));
        Request("web", "/503");
        Request("web", "/504");
        var shown = Shown.On(_hub, "session.web.requests").OrderBy(static shown => shown.Sequence).ToArray();
        Assert.Equal(
            [("/500", null), ("/503", "2"), ("/504", null)], shown[^3..].Select(static shown => (shown["target"], shown["skipped"])));
    }

    [Fact]
    public async Task What_cannot_be_read_is_passed_over()
    {
        Request("web", "/1");
        await WatchAsync("session.web.requests");
        EndOfBatch();
        _feed.OnRecord(_reader.Cursor, _names.GetOrAdd("web"u8), "nonsense"u8);
        Request("web", "/2");
        Assert.Equal(["/1", "/2"], Targets("web"));
    }

    private RequestFeed CreateFeed(long from) =>
        new(_ring, _hub, _names, new SessionStatusFeed(_hub, new ListedSessions(), _time), from, _time);

    private async Task WatchAsync(string pattern) =>
        Assert.Equal(SubscribeStatus.Subscribed, await _hub.SubscribeAsync(_client, pattern, static () => { }));

    private void EndOfBatch() => _feed.EndOfBatch(_time.GetTimestamp(), _reader.Cursor);

    /// <summary>A request ends, and the feed reads its record.</summary>
    private void Request(string session, string target)
    {
        var name = Encoding.ASCII.GetBytes(session);
        var record = new RequestRecord
        {
            SessionName = name,
            Target = Encoding.ASCII.GetBytes(target),
            StartedUnixMicroseconds = RequestRecordCodec.MinTimestamp,
            Status = 200,
        };
        var payload = new byte[_ring.MaxPayload];
        var length = RequestRecordCodec.Encode(payload, record);
        Assert.Equal(PublishStatus.Published, _producer.TryPublish((ushort)RecordType.Request, payload.AsSpan(0, length)));
        Assert.Equal(RingReadStatus.Record, _reader.TryRead(payload, out var entry, out _));
        _feed.OnRecord(entry.Sequence, _names.GetOrAdd(name), payload.AsSpan(0, entry.Length));
    }

    /// <summary>What a session's watchers see, the oldest first.</summary>
    private IEnumerable<string?> Targets(string session) =>
        Shown.On(_hub, $"session.{session}.requests").OrderBy(static shown => shown.Sequence).Select(static shown => shown["target"]);

    private (string Key, long Sequence, string? RingSequence) Last(string session)
    {
        var last = Shown.On(_hub, $"session.{session}.requests").MaxBy(static shown => shown.Sequence)!;
        return (last.Key, last.Sequence, last["sequence"]);
    }
}
