using System.Net;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Otlp;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Tests.Requests;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.ProxyEntry.Tracing;

namespace Tunnel2.ProxyEntry.Tests.Tracing;

public sealed class RequestTracerTests : IDisposable
{
    private const string Wanted = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    private const string Unwanted = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

    private static readonly byte[] _head = MakeHead("250,1750");
    private readonly TestMeterFactory _factory = new();
    private readonly ProxyEntryMetrics _metrics;

    public RequestTracerTests() => _metrics = new ProxyEntryMetrics(_factory);

    public void Dispose() => _factory.Dispose();

    [Fact]
    public void When_all_is_off_there_is_nothing_to_call()
    {
        using var tracer = new RequestTracer(SettingsFixture.LoadValid(), _metrics, TimeProvider.System);
        Assert.Equal(RequestMoments.None, tracer.Moments);
    }

    [Fact]
    public void The_agents_part_is_taken_out_of_the_tunnels()
    {
        var time = new TestUtilities.ManualTimeProvider();
        using var tracer = new RequestTracer(SettingsFixture.LoadValid("ServerTiming=always"), _metrics, time);
        var (exchange, request) = (new SampleExchange(), new ForwardedRequest());
        request.Begin(time);
        tracer.OnBegan(exchange, request);
        time.Advance(TimeSpan.FromMilliseconds(3));
        request.Session = Sample.Session("web");
        tracer.OnStreamOpened(exchange, request);
        request.Times.MarkHeadSent();
        time.Advance(TimeSpan.FromMilliseconds(5));
        var facts = new ResponseFacts(ResponseFacts.NoLength, AgentTiming.Parse("250,1750"u8));
        tracer.OnAnswered(exchange, request, facts, time.GetTimestamp());
        Assert.Equal(
            "Server-Timing: edge;dur=3.000, tunnel;dur=3.000, agent;dur=0.250, backend;dur=1.750\r\n",
            Encoding.ASCII.GetString(exchange.Extras!.ResponseLines));
    }

    [Theory]
    [InlineData("")]
    [InlineData("5")]
    [InlineData("5,")]
    [InlineData("-1,5")]
    [InlineData("1,5x")]
    [InlineData("1,99999999999999")]
    public void An_agents_nonsense_is_no_timing(string value) => Assert.Null(AgentTiming.Parse(Encoding.ASCII.GetBytes(value)));

    [Fact]
    public async Task What_is_not_drawn_takes_nothing_from_the_others()
    {
        using var collector = new PrometheusCollector(_factory, TimeProvider.System);
        var settings = SettingsFixture.LoadValid(
            "Otlp:Endpoint=http://127.0.0.1:9", "Otlp:Interval=1h", "Tracing:SampleRatio=0.000001", "Tracing:MaxPerSecond=1",
            "TrustedProxies=203.0.113.9");
        var time = new TestUtilities.ManualTimeProvider();
        using var tracer = new RequestTracer(settings, _metrics, time);
        await using var export = OtlpExport.Start(settings, _metrics);
        Assert.All(Enumerable.Range(0, 20), _ => Assert.False(IsTraced(tracer, time, Unwanted)));
        Assert.True(IsTraced(tracer, time, Wanted));
        Assert.Equal(0, PrometheusParser.Parse(collector.Collect()).Samples["tunnel2_entry_traces_limited_total"]);
    }

    [Theory]
    [InlineData("ServerTiming=off")]
    [InlineData("TrustedProxies=203.0.113.9")]
    public async Task Beyond_the_most_of_a_second_a_request_is_left_alone_and_counted(string setting)
    {
        using var collector = new PrometheusCollector(_factory, TimeProvider.System);
        var settings = SettingsFixture.LoadValid(
            "Otlp:Endpoint=http://127.0.0.1:9", "Otlp:Interval=1h", "Tracing:SampleRatio=1", "Tracing:MaxPerSecond=2", setting);
        var time = new TestUtilities.ManualTimeProvider();
        using var tracer = new RequestTracer(settings, _metrics, time);
        await using var export = OtlpExport.Start(settings, _metrics);
        Assert.Equal([true, true, false, false], Enumerable.Range(0, 4).Select(_ => IsTraced(tracer, time, Wanted)));
        time.Advance(TimeSpan.FromMilliseconds(500));
        Assert.Equal([true, false], Enumerable.Range(0, 2).Select(_ => IsTraced(tracer, time, Wanted)));
        Assert.Equal(3, PrometheusParser.Parse(collector.Collect()).Samples["tunnel2_entry_traces_limited_total"]);
    }

    [Fact]
    public async Task A_visitor_gets_its_timings_also_when_no_more_requests_are_traced()
    {
        var settings = SettingsFixture.LoadValid(
            "Otlp:Endpoint=http://127.0.0.1:9", "Otlp:Interval=1h", "Tracing:SampleRatio=1", "Tracing:MaxPerSecond=1",
            "ServerTiming=always");
        var time = new TestUtilities.ManualTimeProvider();
        using var tracer = new RequestTracer(settings, _metrics, time);
        await using var export = OtlpExport.Start(settings, _metrics);
        Assert.True(IsTraced(tracer, time, Wanted));
        var (exchange, request) = (new SampleExchange(), new ForwardedRequest());
        request.Begin(time);
        tracer.OnBegan(exchange, request);
        Assert.Null(request.NoteOf<RequestTimeline>()!.Edge);
        tracer.OnFailed(exchange, request, isAnswered: true);
        Assert.StartsWith("Server-Timing: edge;dur=", Encoding.ASCII.GetString(exchange.Extras!.ResponseLines), StringComparison.Ordinal);
    }

    [Fact]
    public async Task What_a_slow_collector_leaves_no_room_for_is_counted()
    {
        const int Requests = 2000;
        const int Room = 2048;
        using var silent = new TcpListener(IPAddress.Loopback, 0);
        silent.Start();
        using var collector = new PrometheusCollector(_factory, TimeProvider.System);
        var settings = SettingsFixture.LoadValid(
            $"Otlp:Endpoint=http://{silent.LocalEndpoint}", "Otlp:Interval=1h", "Tracing:SampleRatio=1", "Tracing:MaxPerSecond=1000000");
        using var tracer = new RequestTracer(settings, _metrics, TimeProvider.System);
        await using var export = OtlpExport.Start(settings, _metrics);
        var (exchange, request, session) = (
            new SampleExchange { Field = ("traceparent", Wanted) }, new ForwardedRequest(), Sample.Session("web"));
        for (var i = 0; i < Requests; i++)
        {
            Trace(tracer, exchange, request, session);
        }

        // Two spans each. On a slow machine the collector may have been given up once or twice by then, with 512 spans each time.
        Assert.InRange(
            PrometheusParser.Parse(collector.Collect()).Samples["tunnel2_entry_otlp_spans_dropped_total"],
            (2 * Requests) - Room - 1024,
            (2 * Requests) - Room);
    }

    private static bool IsTraced(RequestTracer tracer, TimeProvider time, string traceParent)
    {
        var (exchange, request) = (new SampleExchange { Field = ("traceparent", traceParent) }, new ForwardedRequest());
        request.Begin(time);
        tracer.OnBegan(exchange, request);
        Assert.Equal(request.NoteOf<RequestTimeline>() is null, exchange.Extras is null);
        return request.NoteOf<RequestTimeline>()?.Edge is not null;
    }

    private static void Trace(
        RequestTracer tracer, SampleExchange exchange, ForwardedRequest request, ProxyEntry.Sessions.EntrySession session)
    {
        request.Begin(TimeProvider.System);
        exchange.Extras = null;
        tracer.OnBegan(exchange, request);
        request.Session = session;
        tracer.OnStreamOpened(exchange, request);
        request.Times.MarkHeadSent();
        _ = HeaderBlock.TryRead(_head, out var head);
        var arrived = request.Times.Now();
        _ = ResponseFacts.TryRead(head, out var facts);
        tracer.OnAnswered(exchange, request, facts, arrived);
        request.HeadArrived(200, arrived);
        tracer.OnEnded(exchange, request, RequestOutcome.Completed);
    }

    private static byte[] MakeHead(string timing)
    {
        var buffer = new byte[512];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginResponse(HeaderBlockFlags.None, 200, "OK"u8);
        writer.AddField("Content-Type", "text/plain");
        writer.AddField("Tunnel2-Timing", timing);
        return buffer[..writer.Complete()];
    }
}
