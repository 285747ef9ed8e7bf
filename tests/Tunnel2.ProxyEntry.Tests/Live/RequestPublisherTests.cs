using System.Text;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.Requests;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.ProxyEntry.Tests.Live;

/// <summary>What the live plane learns of a request.</summary>
public sealed class RequestPublisherTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("tunnel2-publisher-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    private SharedEventRing CreateRing() =>
        SharedEventRing.Create(Path.Combine(_directory, "ring"), new EventRingOptions { Capacity = 65_536 });

    [Fact]
    public void Switched_off_nothing_is_published_and_nothing_is_kept_for_reports()
    {
        var publisher = new RequestPublisher(null, TimeProvider.System);
        Assert.Equal(RequestMoments.None, publisher.Moments);
        Assert.Equal(0, publisher.Dropped);
    }

    [Theory]
    [InlineData(false, "/path")]
    [InlineData(true, "/path?token=secret")]
    public void An_upgraded_connection_is_reported_in_parts_that_add_up_without_its_query_unless_that_is_asked_for(
        bool includesQuery, string target)
    {
        using var ring = CreateRing();
        var time = new TestUtilities.ManualTimeProvider();
        var publisher = new RequestPublisher(ring, time, includesQuery);
        using var reader = ring.CreateReader(new EventRingReaderOptions());
        var (exchange, request) = (new SampleExchange { AsksForUpgrade = true }, new ForwardedRequest());
        request.Begin(time);
        publisher.OnStreamOpened(exchange, request);

        time.Advance(TimeSpan.FromMilliseconds(1));
        (request.BytesReceived, request.BytesSent) = (5, 70);
        publisher.OnLasts(request);
        time.Advance(TimeSpan.FromMilliseconds(2));
        (request.BytesReceived, request.BytesSent) = (6, 100);
        request.Times.MarkEnded();
        publisher.OnEnded(exchange, request, RequestOutcome.Upgraded);

        Assert.Equal((1000u, 5ul, 70ul, RequestFlags.Upgraded | RequestFlags.Interim), Next());
        Assert.Equal((2000u, 1ul, 30ul, RequestFlags.Upgraded), Next());

        (uint, ulong, ulong, RequestFlags) Next()
        {
            var buffer = new byte[ring.MaxPayload];
            Assert.Equal(RingReadStatus.Record, reader.TryRead(buffer, out var entry, out _));
            Assert.Equal(RecordDecodeStatus.Ok, RequestRecordCodec.Decode(buffer.AsSpan(0, entry.Length), out var record));
            Assert.Equal(target, Encoding.ASCII.GetString(record.Target));
            Assert.Equal(RequestMethod.Get, record.Method);
            return (record.TotalMicroseconds, record.BytesIn, record.BytesOut, record.Flags);
        }
    }

    [Fact]
    public void What_failed_at_another_node_names_that_node()
    {
        using var ring = CreateRing();
        var publisher = new RequestPublisher(ring, new TestUtilities.ManualTimeProvider());
        using var reader = ring.CreateReader(new EventRingReaderOptions());
        var request = new ForwardedRequest { NodeId = "e2", IsCarried = true };
        Assert.EndsWith(" (node e2)", request.Fail(ProxyErrorCatalog.Get(ProxyError.NodeLost)), StringComparison.Ordinal);
        publisher.OnEnded(new SampleExchange(), request, RequestOutcome.Error);
        Assert.Equal(("node-lost", "e2"), Next());

        // It was passed on, came back, and failed here.
        request.Fail(ProxyErrorCatalog.Get(ProxyError.BackendRefused));
        publisher.OnEnded(new SampleExchange(), request, RequestOutcome.Error);
        Assert.Equal(("backend-refused", ""), Next());

        (string?, string) Next()
        {
            var buffer = new byte[ring.MaxPayload];
            Assert.Equal(RingReadStatus.Record, reader.TryRead(buffer, out var entry, out _));
            Assert.Equal(RecordDecodeStatus.Ok, RequestRecordCodec.Decode(buffer.AsSpan(0, entry.Length), out var record));
            return (RequestErrorCodes.Name(record.ErrorCode), Encoding.ASCII.GetString(record.FailedAt));
        }
    }

    [Fact]
    public void A_request_is_reported_with_its_times_bytes_and_error()
    {
        using var ring = CreateRing();
        var time = new TestUtilities.ManualTimeProvider();
        var publisher = new RequestPublisher(ring, time);
        using var reader = ring.CreateReader(new EventRingReaderOptions());
        var request = new ForwardedRequest { Status = 502, BytesReceived = 7, BytesSent = 9 };
        request.Times.Begin(time);
        var started = (time.GetUtcNow() - DateTimeOffset.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond;
        time.Advance(TimeSpan.FromMilliseconds(250));
        request.Times.MarkEnded();
        publisher.OnEnded(new SampleExchange(), request, RequestOutcome.VisitorAborted);
        var buffer = new byte[ring.MaxPayload];
        Assert.Equal(RingReadStatus.Record, reader.TryRead(buffer, out var entry, out _));
        Assert.Equal(RecordDecodeStatus.Ok, RequestRecordCodec.Decode(buffer.AsSpan(0, entry.Length), out var record));
        Assert.Equal(
            (502, RequestErrorCodes.VisitorLeft, 250_000u, 7ul, 9ul),
            (record.Status, record.ErrorCode, record.TotalMicroseconds, record.BytesIn, record.BytesOut));
        Assert.Equal(started, record.StartedUnixMicroseconds);
        Assert.Equal("/path"u8, record.Target);
    }
}
