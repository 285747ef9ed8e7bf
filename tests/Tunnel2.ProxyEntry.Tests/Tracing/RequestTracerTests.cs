using System.Diagnostics;
using System.Globalization;
using System.Text;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Diagnostics.Otlp;
using Tunnel2.ProxyEntry.Forwarding;
using Tunnel2.ProxyEntry.Tests.AccessLog;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.ProxyEntry.Tracing;

namespace Tunnel2.ProxyEntry.Tests.Tracing;

public sealed class RequestTracerTests
{
    private static readonly byte[] _head = MakeHead("250,1750");

    [Fact]
    public void When_all_is_off_there_is_nothing_to_call()
    {
        using var tracer = new RequestTracer(SettingsFixture.LoadValid(), TimeProvider.System);
        Assert.False(tracer.IsOn);
    }

    [Fact]
    public void The_agents_part_is_taken_out_of_the_tunnels()
    {
        var time = new TestUtilities.ManualTimeProvider();
        using var tracer = new RequestTracer(SettingsFixture.LoadValid("ServerTiming=always"), time);
        var (exchange, request) = (new SampleExchange(), new ForwardedRequest());
        request.Begin();
        tracer.Begin(exchange, request, time.GetTimestamp());
        time.Advance(TimeSpan.FromMilliseconds(3));
        tracer.OnStream(exchange, request.Timeline!, Sample.Session("web"));
        time.Advance(TimeSpan.FromMilliseconds(5));
        Assert.Equal(Protocol.Errors.ProtocolError.None, HeaderBlock.TryRead(_head, out var head));
        request.Timeline!.OnResponseHead(head, exchange);
        Assert.Equal(
            "Server-Timing: edge;dur=3.000, tunnel;dur=3.000, agent;dur=0.250, backend;dur=1.750\r\n", Encoding.ASCII.GetString(exchange.Extras!.ResponseLines));
    }

    [Theory]
    [InlineData("")]
    [InlineData("5")]
    [InlineData("5,")]
    [InlineData("-1,5")]
    [InlineData("1,5x")]
    [InlineData("1,99999999999999")]
    public void An_agents_nonsense_is_no_timing(string value)
    {
        Assert.Equal(Protocol.Errors.ProtocolError.None, HeaderBlock.TryRead(MakeHead(value), out var head));
        Assert.Null(AgentTiming.Read(head));
    }

    [Fact]
    public async Task Two_spans_and_the_timings_of_a_request_stay_within_their_budget()
    {
        const int Requests = 30_000;
        var settings = SettingsFixture.LoadValid("Otlp:Endpoint=http://127.0.0.1:9", "Otlp:Interval=1h", "Tracing:SampleRatio=1", "ServerTiming=always");
        using var factory = new TestMeterFactory();
        using var tracer = new RequestTracer(settings, TimeProvider.System);
        await using var export = OtlpExport.Start(settings, new ProxyEntryMetrics(factory));
        var (exchange, request, session) = (new SampleExchange { Field = ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01") }, new ForwardedRequest(), Sample.Session("web"));

        var (cost, bytes) = (0.0, 0L);
        Activity? left = null;

        // A thread as those that serve requests: nothing of the test flows along with it.
        var thread = new Thread(() =>
        {
            // The first runs are for the compiler.
            for (var run = 0; run < 3; run++)
            {
                var allocated = GC.GetAllocatedBytesForCurrentThread();
                var started = ThreadNanoseconds();
                for (var i = 0; i < Requests; i++)
                {
                    Trace(tracer, exchange, request, session);
                }

                cost = (ThreadNanoseconds() - started) / Requests;
                bytes = (GC.GetAllocatedBytesForCurrentThread() - allocated) / Requests;
            }

            left = Activity.Current;
        });
        thread.UnsafeStart();
        thread.Join();

        Assert.Null(left);
        TestContext.Current.TestOutputHelper?.WriteLine($"{cost:0} ns and {bytes} bytes a request");
        Assert.InRange(bytes, 0, 1500);

        // docs/performance.md has the figure, 1.3 µs. A machine with ten times as much to do as it has processors adds its share.
        Assert.InRange(cost, 1, 15_000);
    }

    private static void Trace(RequestTracer tracer, SampleExchange exchange, ForwardedRequest request, ProxyEntry.Sessions.EntrySession session)
    {
        request.Begin();
        exchange.Extras = null;
        tracer.Begin(exchange, request, Stopwatch.GetTimestamp());
        tracer.OnStream(exchange, request.Timeline!, session);
        _ = HeaderBlock.TryRead(_head, out var head);
        request.Timeline!.OnResponseHead(head, exchange);
        request.HeadArrived(200);
        tracer.End(exchange, request, request.Timeline, RequestOutcome.Completed);
    }

    /// <summary>Processor time of this thread, where the system tells; else time.</summary>
    private static double ThreadNanoseconds() => OperatingSystem.IsLinux()
        ? double.Parse(File.ReadAllText("/proc/thread-self/schedstat").Split(' ')[0], CultureInfo.InvariantCulture)
        : Stopwatch.GetElapsedTime(0).TotalNanoseconds;

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
