using System.Text.RegularExpressions;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Observability;

/// <summary>Metrics and traces at a collector.</summary>
public sealed partial class OtlpTests
{
    private const string TraceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    private const string VisitorsSpan = "00f067aa0ba902b7";
    private const string VisitorsTrace = $"traceparent: 00-{TraceId}-{VisitorsSpan}-01\r\ntracestate: vendor=1\r\n";

    [Fact]
    public async Task A_trace_goes_from_the_visitor_through_the_edge_and_the_agent_to_the_backend()
    {
        await using var sink = await OtlpSink.StartAsync();
        var (spanId, begun) = ("", "");
        await TunnelFixture.RunAsync(
            Mirror.ServeAsync,
            async tunnel =>
            {
                var (_, body) = await tunnel.ExchangeAsync("/orders/7?secret=x", fields: VisitorsTrace);
                var parent = Parent().Match(body.Request()["traceparent"]!);
                Assert.True(parent.Success, body.Text());
                Assert.Equal(TraceId, parent.Groups[1].Value);
                Assert.True(VisitorsSpan != parent.Groups[2].Value, body.Text());
                Assert.Equal("vendor=1", body.Request()["tracestate"]);
                Assert.Null(body.Request()["Tunnel2-Timing"]);
                spanId = parent.Groups[2].Value;

                // The owner of a tracestate without a traceparent is unknown.
                (_, body) = await tunnel.ExchangeAsync("/begun", fields: "tracestate: vendor=1\r\n");
                begun = Parent().Match(body.Request()["traceparent"]!).Groups[1].Value;
                Assert.Null(body.Request()["tracestate"]);
                await tunnel.ExchangeAsync("/made-up", "BREW");
            },
            new TunnelSetup { Settings = [$"Otlp:Endpoint={sink.Address}", "Tracing:SampleRatio=1"] });

        // The end of the entry has sent what was left.
        Assert.True(sink.Has("/v1/traces", Convert.FromHexString(TraceId)));
        Assert.True(sink.Has("/v1/traces", Convert.FromHexString(VisitorsSpan)), "The visitor's span is the parent of the edge's.");
        Assert.True(sink.Has("/v1/traces", Convert.FromHexString(spanId)), "The span that the backend got is there.");
        Assert.True(sink.Has("/v1/traces", Convert.FromHexString(begun)));
        foreach (var text in new[] { "tunnel2-entry", "/orders/7", "tunnel2.backend.time_to_first_byte", "GET", "_OTHER", "web.localhost" })
        {
            Assert.True(sink.Has("/v1/traces", text), text);
        }

        Assert.False(sink.Has("/v1/traces", "secret"));
        Assert.False(sink.Has("/v1/traces", "BREW"), "Any visitor can make up a method.");
        Assert.True(sink.Has("/v1/metrics", "tunnel2.entry.requests"));
        Assert.True(sink.Has("/v1/metrics", "tunnel2.entry.request.time_to_first_byte"));
        Assert.True(sink.Has("/v1/metrics", "tunnel2.entry.uplink.flushes"));
    }

    [Fact]
    public Task Without_traces_the_context_that_came_continues_as_it_is() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        var (_, body) = await tunnel.ExchangeAsync("/", fields: VisitorsTrace);
        Assert.Equal($"00-{TraceId}-{VisitorsSpan}-01", body.Request()["traceparent"]);
        Assert.Equal("vendor=1", body.Request()["tracestate"]);
        (_, body) = await tunnel.ExchangeAsync("/");
        Assert.Null(body.Request()["traceparent"]);
    });

    [Fact]
    public async Task A_trusted_proxys_word_on_sampling_holds_and_a_strangers_does_not()
    {
        await using var sink = await OtlpSink.StartAsync();
        const string Unwanted = "traceparent: 00-11111111111111111111111111111111-2222222222222222-00\r\n";
        await TunnelFixture.RunAsync(
            Mirror.ServeAsync,
            async tunnel =>
            {
                var (_, body) = await tunnel.ExchangeAsync("/", fields: Unwanted);
                Assert.Equal("00-11111111111111111111111111111111-2222222222222222-00", body.Request()["traceparent"]);
                (_, body) = await tunnel.ExchangeAsync("/", fields: VisitorsTrace);
                Assert.DoesNotContain(VisitorsSpan, body.Request()["traceparent"], StringComparison.Ordinal);
            },
            new TunnelSetup { Settings = [$"Otlp:Endpoint={sink.Address}", "Tracing:SampleRatio=0.000001", "TrustedProxies=127.0.0.1"] });
        await TunnelFixture.RunAsync(
            Mirror.ServeAsync,
            async tunnel =>
            {
                var (_, body) = await tunnel.ExchangeAsync("/", fields: VisitorsTrace);
                Assert.Equal($"00-{TraceId}-{VisitorsSpan}-01", body.Request()["traceparent"]);
            },
            new TunnelSetup { Settings = [$"Otlp:Endpoint={sink.Address}", "Tracing:SampleRatio=0.000001"] });
    }

    [Fact]
    public async Task A_collector_that_is_down_costs_a_counter_and_nothing_else()
    {
        await using var nobody = RawTcpServer.Start(static connection =>
        {
            connection.Socket.Dispose();
            return Task.CompletedTask;
        });
        await TunnelFixture.RunAsync(
            Mirror.ServeAsync,
            async tunnel =>
            {
                for (var i = 0; i < 50; i++)
                {
                    Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
                }

                await tunnel.Entry.UntilAsync(
                    () =>
                        System.Text.Encoding.UTF8.GetString(tunnel.Entry.Metrics.Collect()).Contains(
                            "tunnel2_entry_otlp_exports_total{outcome=\"failed\",signal=\"traces\"}", StringComparison.Ordinal),
                    "the loss is counted");
                Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
            },
            new TunnelSetup { Settings = [$"Otlp:Endpoint=http://127.0.0.1:{nobody.Port}", "Otlp:Interval=1s", "Tracing:SampleRatio=1"] });
    }

    [Fact]
    public async Task A_collector_that_never_answers_is_asked_for_both_kinds_at_once_at_the_end()
    {
        var (open, areBoth) = (0, false);
        await using var silent = RawTcpServer.Start(async connection =>
        {
            if (Interlocked.Increment(ref open) == 2)
            {
                Volatile.Write(ref areBoth, true);
            }

            await connection.WaitForEndAsync();
            Interlocked.Decrement(ref open);
        });
        await TunnelFixture.RunAsync(
            Mirror.ServeAsync,
            async tunnel => Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode),
            new TunnelSetup { Settings = [$"Otlp:Endpoint=http://127.0.0.1:{silent.Port}", "Otlp:Interval=1h", "Tracing:SampleRatio=1"] });
        Assert.True(Volatile.Read(ref areBoth), "Both were open at once.");
    }

    [GeneratedRegex("^00-([0-9a-f]{32})-([0-9a-f]{16})-01$")]
    private static partial Regex Parent();
}
