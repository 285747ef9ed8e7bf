using System.Diagnostics.Metrics;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Diagnostics;

public sealed class UplinkMetricsTests : IDisposable
{
    private readonly TestMeterFactory _factory = new();
    private readonly UplinkMetrics _metrics;

    public UplinkMetricsTests() => _metrics = new UplinkMetrics(_factory);

    public void Dispose() => _factory.Dispose();

    [Fact]
    public Task Present_uplinks_are_added_up_by_slot() => TestEngine.RunAsync(EngineKind.Pool, async engine =>
    {
        var (session, pairs) = Sessions(engine, 2);
        var (first, other) = (pairs[0].Open(), pairs[1].Open());
        var second = pairs[0].Open();
        var body = new byte[1000];
        first.SendRequest("/", body);
        await engine.UntilAsync(() => pairs[0].Agent.Statistics.BytesReceived > body.Length, "the request has arrived");
        var shown = Read();
        Assert.Equal((1, 1), (shown["tunnel2.entry.uplinks.active:0"], shown["tunnel2.entry.uplinks.active:1"]));
        Assert.Equal((2, 1), (shown["tunnel2.entry.uplink.streams.active:0"], shown["tunnel2.entry.uplink.streams.active:1"]));
        Assert.Equal((2, 1), (shown["tunnel2.entry.uplink.streams:0"], shown["tunnel2.entry.uplink.streams:1"]));
        Assert.Equal(pairs[0].Entry.Sending.OutstandingBytes, (long)shown["tunnel2.entry.uplink.outstanding:0"]);
        Assert.Equal(0, shown["tunnel2.entry.uplink.outstanding:1"]);
        Assert.Equal(pairs[0].Entry.Statistics.BytesSent, (long)shown["tunnel2.entry.uplink.sent:0"]);
        Assert.InRange(shown["tunnel2.entry.uplink.sent:0"], body.Length, body.Length + 200);
        Assert.Equal(pairs[0].Entry.Statistics.FramesSent, (long)shown["tunnel2.entry.uplink.frames.sent:0"]);
        Assert.Equal(0, shown["tunnel2.entry.uplink.sent:1"]);
        Assert.DoesNotContain("tunnel2.entry.uplinks.active:2", shown.Keys);
        await EndAsync(session, pairs, first, second, other);
    });

    [Fact]
    public Task What_an_uplink_did_stays_and_what_it_held_goes_with_it() => TestEngine.RunAsync(EngineKind.Pool, async engine =>
    {
        var (session, pairs) = Sessions(engine, 1);
        var stream = pairs[0].Open();
        stream.SendRequest("/", new byte[500]);
        await engine.UntilAsync(() => pairs[0].Agent.Statistics.BytesReceived > 500, "the request has arrived");
        await EndAsync(session, pairs, stream);
        var sent = pairs[0].Entry.Statistics.BytesSent;
        _metrics.Remove(pairs[0].Entry);
        _metrics.Remove(pairs[0].Entry);
        var shown = Read();
        Assert.Equal((0, 0), (shown["tunnel2.entry.uplinks.active:0"], shown["tunnel2.entry.uplink.streams.active:0"]));
        Assert.Equal((1, sent), (shown["tunnel2.entry.uplink.streams:0"], (long)shown["tunnel2.entry.uplink.sent:0"]));

        // The next uplink in the slot continues the sums.
        var (next, others) = Sessions(engine, 1);
        var again = others[0].Open();
        shown = Read();
        Assert.Equal((1, 2), (shown["tunnel2.entry.uplinks.active:0"], shown["tunnel2.entry.uplink.streams:0"]));
        await EndAsync(next, others, again);
    });

    [Fact]
    public Task Sends_are_counted_once_each_in_the_smallest_size_that_they_fit_in() => TestEngine.RunAsync(EngineKind.Pool, async engine =>
    {
        var (session, pairs) = Sessions(engine, 2);
        var streams = pairs.Select(static pair => pair.Open()).ToArray();
        foreach (var stream in streams)
        {
            stream.SendRequest("/");
        }

        await engine.UntilAsync(() => pairs.All(static pair => pair.Agent.Statistics.BytesReceived > 0), "both requests have arrived");
        var sends = Read().Where(static shown => shown.Key.StartsWith("tunnel2.entry.uplink.flushes:", StringComparison.Ordinal)).ToArray();
        Assert.Equal(pairs.Sum(static pair => Total(pair)), (long)sends.Sum(static size => size.Value));
        Assert.Contains(sends, static size => size.Key.EndsWith(":+Inf", StringComparison.Ordinal) && size.Value == 0);
        await EndAsync(session, pairs, streams);

        static long Total(UplinkPair pair)
        {
            long sum = 0;
            foreach (var count in pair.Entry.Statistics.FlushSizes)
            {
                sum += count;
            }

            return sum;
        }
    });

    [Fact]
    public Task Round_trips_are_shown_by_least_mean_and_most() => TestEngine.RunAsync(EngineKind.Pool, async engine =>
    {
        Assert.DoesNotContain(Read().Keys, static name => name.StartsWith("tunnel2.entry.uplink.round_trip", StringComparison.Ordinal));
        var (near, nearPairs) = Sessions(engine, 1, roundTrip: 10);
        var (far, farPairs) = Sessions(engine, 1, roundTrip: 30);
        var (unknown, unknownPairs) = Sessions(engine, 1);
        var shown = Read();
        Assert.Equal(0.010, shown["tunnel2.entry.uplink.round_trip:min"], 3);
        Assert.Equal(0.020, shown["tunnel2.entry.uplink.round_trip:mean"], 3);
        Assert.Equal(0.030, shown["tunnel2.entry.uplink.round_trip:max"], 3);
        await EndAsync(near, nearPairs);
        await EndAsync(far, farPairs);
        await EndAsync(unknown, unknownPairs);
    });

    [Fact]
    public void Refused_uplinks_are_counted_by_reason()
    {
        using var recorded = new RecordedMetrics();
        var metrics = new UplinkMetrics(recorded.Factory);
        metrics.JoinRefused("overloaded");
        metrics.JoinRefused("overloaded");
        Assert.Equal(2, recorded["tunnel2.entry.uplinks.refused:overloaded"]);
    }

    private (TunnelSession Session, UplinkPair[] Pairs) Sessions(TestEngine engine, int uplinks, int roundTrip = 0)
    {
        var session = new TunnelSession();
        var pairs = Enumerable.Range(0, uplinks)
            .Select(_ => UplinkPair.Start(engine, static _ => Task.CompletedTask, new PairOptions { RoundTrip = roundTrip }))
            .ToArray();
        foreach (var pair in pairs)
        {
            Assert.True(session.TryAdd(pair.Entry));
            _metrics.Add(pair.Entry);
        }

        return (session, pairs);
    }

    private static async Task EndAsync(TunnelSession session, UplinkPair[] pairs, params TunnelStream[] streams)
    {
        foreach (var stream in streams)
        {
            stream.Release();
        }

        session.End(Tunnel2.Protocol.Errors.SessionEndReason.Shutdown, "done");
        foreach (var pair in pairs)
        {
            await pair.EntryRun;
            pair.AgentTransport.Abort();
            await pair.AgentRun;
        }
    }

    /// <summary>What every instrument shows now: its name with the values of its tags.</summary>
    private Dictionary<string, double> Read()
    {
        var shown = new Dictionary<string, double>();
        using var listener = new MeterListener();
        listener.InstrumentPublished = (instrument, other) =>
        {
            if (instrument.Meter.Scope == _factory && instrument.IsObservable)
            {
                other.EnableMeasurementEvents(instrument);
            }
        };
        listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) => shown[Name(instrument, tags)] = value);
        listener.SetMeasurementEventCallback<double>((instrument, value, tags, _) => shown[Name(instrument, tags)] = value);
        listener.Start();
        listener.RecordObservableInstruments();
        return shown;

        static string Name(Instrument instrument, ReadOnlySpan<KeyValuePair<string, object?>> tags) =>
            tags.IsEmpty ? instrument.Name : $"{instrument.Name}:{tags[0].Value}";
    }
}
