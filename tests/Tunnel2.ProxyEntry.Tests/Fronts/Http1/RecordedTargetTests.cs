using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.ProxyEntry.AccessLog;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.AccessLog;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using static Tunnel2.ProxyEntry.Tests.Fronts.Http1.ScriptedForwarder;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Http1;

/// <summary>What is recorded of a target that this connection has never asked for.</summary>
public sealed class RecordedTargetTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("tunnel2-targets-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public async Task Neither_the_live_record_nor_the_access_log_makes_a_text_of_it()
    {
        using var ring = SharedEventRing.Create(Path.Combine(_directory, "ring"), new EventRingOptions { Capacity = 64 });
        using var reader = ring.CreateReader(new EventRingReaderOptions());
        using var factory = new TestMeterFactory();
        using var sink = new SampleSink();
        var publisher = new RequestPublisher(ring, TimeProvider.System);
        var settings = SettingsFixture.LoadValid("AccessLog:Mode=full", "AccessLog:Format=text").AccessLog;
        var allocated = new List<long>();
        var metrics = new ProxyEntryMetrics(factory);
        using (var log = new RequestAccessLog(settings, _ => sink, 16, metrics, TimeProvider.System, NullLogger.Instance))
        {
            await using var front = new FrontFixture((exchange, request) =>
            {
                request.Times.MarkEnded();
                var before = GC.GetAllocatedBytesForCurrentThread();
                publisher.OnEnded(exchange, request, RequestOutcome.Completed);
                log.OnEnded(exchange, request, RequestOutcome.Completed);
                allocated.Add(GC.GetAllocatedBytesForCurrentThread() - before);
                Answer(exchange, ".");
                return default;
            });

            for (var i = 0; i < 4; i++)
            {
                await front.SendAsync($"PATCH /never-seen-{i}?q=1 HTTP/1.1\r\nHost: web.localhost\r\n\r\n");
                await front.ReceiveAsync("\r\n\r\n.");
            }
        }

        // The first request makes what is made once, the text of the Host among it.
        Assert.Equal([0L, 0, 0], allocated[1..]);
        Assert.Contains(" PATCH /never-seen-0 ", sink.Text, StringComparison.Ordinal);
        var buffer = new byte[ring.MaxPayload];
        Assert.Equal(RingReadStatus.Record, reader.TryRead(buffer, out var entry, out _));
        Assert.Equal(RecordDecodeStatus.Ok, RequestRecordCodec.Decode(buffer.AsSpan(0, entry.Length), out var record));
        Assert.Equal("/never-seen-0", Encoding.Latin1.GetString(record.Target));
        Assert.Equal(RequestMethod.Patch, record.Method);
    }
}
