using System.Diagnostics.Metrics;
using System.Net.Sockets;
using System.Text;
using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.ProxyEntry.Tests.Live;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Dashboard;

/// <summary>Which requests the live list is sent. The test is the feed's thread.</summary>
public sealed class RequestBatchesTests : IDisposable
{
    private static readonly TimeSpan _batch = TimeSpan.FromMilliseconds(100);

    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-batches-").FullName;
    private readonly Meter _meter = new(HubMetrics.MeterName);
    private readonly ManualTimeProvider _time = new();
    private readonly SharedEventRing _ring;
    private readonly EventRingProducer _producer;
    private readonly EventRingReader _reader;
    private readonly Hub _hub;
    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly HubClient _client;
    private readonly RequestBatches _batches;

    public RequestBatchesTests()
    {
        _time.Advance(TimeSpan.FromSeconds(1));
        _ring = SharedEventRing.Create(Path.Combine(_folder, "ring"), new EventRingOptions { Capacity = 1024, Time = _time });
        _producer = _ring.CreateProducer();
        _reader = _ring.CreateReader(new EventRingReaderOptions());
        _hub = new Hub(new HubLimits(), _meter, _time);
        _client = _hub.Add(_socket);
        _batches = new RequestBatches(_ring, _hub, _time);
    }

    public void Dispose()
    {
        _batches.Dispose();
        _hub.Dispose();
        _socket.Dispose();
        _reader.Dispose();
        _ring.Dispose();
        _meter.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    [Fact]
    public void Where_no_page_looks_nothing_is_published()
    {
        Request("/1");
        EndOfBatch();
        EndOfBatch();
        Assert.Empty(Batches);
    }

    [Fact]
    public async Task A_page_gets_the_last_requests_and_then_each_once()
    {
        for (var i = 1; i <= RequestBatches.Remembered + 20; i++)
        {
            Request($"/{i}");
        }

        await WatchAsync();
        EndOfBatch();
        Assert.Equal(Enumerable.Range(21, RequestBatches.Remembered).Select(static i => $"/{i}"), Targets(Assert.Single(Batches)));
        Request("/a");
        Request("/b");
        EndOfBatch();
        Assert.Equal(["/a", "/b"], Targets(Batches[^1]));
        EndOfBatch();
        Assert.Equal(2, Batches.Count);
    }

    [Fact]
    public async Task A_batch_is_published_at_most_every_tenth_of_a_second()
    {
        await WatchAsync();
        EndOfBatch();
        Request("/1");
        EndOfBatch();
        Request("/2");
        _batches.EndOfBatch(_time.GetTimestamp(), _reader.Cursor);
        Assert.Single(Batches);
        EndOfBatch();
        Assert.Equal([["/1"], ["/2"]], Batches.Select(Targets));
    }

    [Fact]
    public async Task What_is_too_much_is_counted_and_failures_have_places_of_their_own()
    {
        await WatchAsync();
        EndOfBatch();
        for (var i = 0; i < RequestBatches.MostPerBatch + 7; i++)
        {
            Request("/good");
        }

        for (var i = 0; i < RequestBatches.MostFailedPerBatch + 5; i++)
        {
            Request("/bad", status: 500);
        }

        EndOfBatch();
        var batch = Assert.Single(Batches);
        Assert.Equal("12", batch["skipped"]);
        Assert.Equal(RequestBatches.MostPerBatch, Targets(batch).Count(static target => target == "/good"));
        Assert.Equal(RequestBatches.MostFailedPerBatch, Targets(batch).Count(static target => target == "/bad"));
        Request("/next");
        EndOfBatch();
        Assert.Equal("0", Batches[^1]["skipped"]);
    }

    [Fact]
    public async Task Reports_of_open_connections_and_nonsense_are_no_requests()
    {
        await WatchAsync();
        EndOfBatch();
        Request("/open", flags: RequestFlags.Upgraded | RequestFlags.Interim);
        _batches.OnRecord(_reader.Cursor, 0, "nonsense"u8);
        Request("/1");
        EndOfBatch();
        Assert.Equal(["/1"], Targets(Assert.Single(Batches)));
    }

    [Fact]
    public async Task It_ends_with_the_last_page()
    {
        await WatchAsync();
        EndOfBatch();
        Request("/1");
        EndOfBatch();
        Assert.True(_hub.Unsubscribe(_client, "node.requests"));
        EndOfBatch();
        Request("/2");
        EndOfBatch();
        Assert.Single(Batches);
    }

    private IReadOnlyList<Shown> Batches => Shown.On(_hub, "node.requests");

    private static IEnumerable<string?> Targets(Shown batch) =>
        batch.Data.GetProperty("requests").EnumerateArray().Select(static one => one.GetProperty("target").GetString());

    private async Task WatchAsync() =>
        Assert.Equal(SubscribeStatus.Subscribed, await _hub.SubscribeAsync(_client, "node.requests", static () => { }));

    private void EndOfBatch()
    {
        _time.Advance(_batch);
        _batches.EndOfBatch(_time.GetTimestamp(), _reader.Cursor);
    }

    private void Request(string target, ushort status = 200, RequestFlags flags = RequestFlags.None)
    {
        var record = new RequestRecord
        {
            SessionName = "web"u8,
            Target = Encoding.ASCII.GetBytes(target),
            StartedUnixMicroseconds = RequestRecordCodec.MinTimestamp,
            Status = status,
            Flags = flags,
        };
        var payload = new byte[_ring.MaxPayload];
        var length = RequestRecordCodec.Encode(payload, record);
        Assert.Equal(PublishStatus.Published, _producer.TryPublish((ushort)RecordType.Request, payload.AsSpan(0, length)));
        Assert.Equal(RingReadStatus.Record, _reader.TryRead(payload, out var entry, out _));
        _batches.OnRecord(entry.Sequence, 0, payload.AsSpan(0, entry.Length));
    }
}
