using System.Diagnostics;
using System.Globalization;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Otlp;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Tests.Requests;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.ProxyEntry.Tracing;

namespace Tunnel2.Budgets.Tests.ProxyEntry;

/// <summary>What tracing and <c>Server-Timing</c> cost a request.</summary>
public sealed class RequestTracerBudgetTests : IDisposable
{
    private const string Wanted = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    private static readonly byte[] _head = MakeHead("250,1750");
    private readonly TestMeterFactory _factory = new();
    private readonly ProxyEntryMetrics _metrics;

    public RequestTracerBudgetTests() => _metrics = new ProxyEntryMetrics(_factory);

    public void Dispose() => _factory.Dispose();

    /// <summary>
    /// docs/performance.md has the times. Those allowed here distinguish a mistake from a machine with ten times as much to do as it has
    /// processors.
    /// </summary>
    [Theory]
    [InlineData("off", 0.000001, 2_000, 8)]
    [InlineData("always", 0, 2_000, 8)]
    [InlineData("off", 1, 6_000, 1500)]
    [InlineData("always", 1, 6_000, 1500)]
    public async Task Measuring_a_request_stays_within_its_budget(string serverTiming, double ratio, int nanoseconds, int bytes)
    {
        var settings = SettingsFixture.LoadValid(
            "Otlp:Endpoint=http://127.0.0.1:9",
            "Otlp:Interval=1h",
            "Tracing:MaxPerSecond=1000000",
            "ServerTiming=" + serverTiming,
            "Tracing:SampleRatio=" + ratio.ToString("0.######", CultureInfo.InvariantCulture));
        using var tracer = new RequestTracer(settings, _metrics, TimeProvider.System);
        await using var export = OtlpExport.Start(settings, _metrics);
        var (exchange, request, session) = (
            new SampleExchange { Field = ("traceparent", Wanted) }, new ForwardedRequest(), Sample.Session("web"));
        Activity? left = null;
        var cost = ThreadCost.Measure(
            () =>
            {
                Trace(tracer, exchange, request, session);
                left = Activity.Current;
            },
            new ThreadCost(nanoseconds, bytes));

        Assert.Null(left);
        TestContext.Current.TestOutputHelper?.WriteLine(
            $"Server-Timing {serverTiming}, ratio {ratio}: {cost.Nanoseconds:0} ns and {cost.Bytes} bytes a request");
        Assert.InRange(cost.Nanoseconds, 1, nanoseconds);
        Assert.InRange(cost.Bytes, 0, bytes);
    }

    private static void Trace(
        RequestTracer tracer, SampleExchange exchange, ForwardedRequest request, Tunnel2.ProxyEntry.Sessions.EntrySession session)
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
