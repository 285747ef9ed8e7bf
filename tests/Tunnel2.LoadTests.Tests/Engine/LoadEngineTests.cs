using System.Net;
using Tunnel2.LoadTests.Engine;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;
using Tunnel2.TestBackend;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoadTests.Tests.Engine;

public sealed class LoadEngineTests
{
    private static readonly RequestTemplate _download = new(RequestKind.Download, 1000);

    [Fact]
    public async Task Every_kind_of_request_is_answered_rightly_by_a_right_backend()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions(), TestContext.Current.CancellationToken);

        var result = await RunAsync(
            backend.EndPoint,
            new TrafficFlow("small", _download, [LoadStep.Steady(100, 1)]),
            new TrafficFlow("large", new RequestTemplate(RequestKind.Download, 3_000_000), [LoadStep.Steady(5, 1)]),
            new TrafficFlow("posts", new RequestTemplate(RequestKind.Echo, 200_000), [LoadStep.Steady(20, 1)]),
            new TrafficFlow(
                "events", new RequestTemplate(RequestKind.Events, 5) { Interval = TimeSpan.FromMilliseconds(20) }, [LoadStep.Steady(5, 1)]),
            new TrafficFlow("websockets", new RequestTemplate(RequestKind.WebSocket, 5) { MessageBytes = 2000 }, [LoadStep.Steady(5, 1)]),
            new TrafficFlow("churn", _download, [LoadStep.Steady(20, 1)]) { NewConnectionEach = true },
            new TrafficFlow(
                "slow", new RequestTemplate(RequestKind.Download, 300_000), [LoadStep.Steady(3, 1)])
            { ReadBytesPerSecond = 400_000 });

        Assert.All(result.Flows, static flow => Assert.Equal((flow.Flow.Arrivals, 0L), (flow.Total.Ok, flow.Total.Failures.Total)));
        Assert.Equal(20, Flow(result, "churn").ConnectionsOpened);
        Assert.Equal(5L * 3_000_000, Flow(result, "large").BodyBytes);
        Assert.InRange(Flow(result, "slow").Total.Latency.PercentileTime(0), TimeSpan.FromMilliseconds(600), TimeSpan.FromSeconds(10));
        Assert.Equal(100, Flow(result, "small").Timeline.Sum(static point => point.Arrivals));
        Assert.Equal(100, Flow(result, "small").Timeline.Sum(static point => point.Ok));
    }

    [Theory]
    [InlineData(
        "HTTP/1.1 502 Bad Gateway\r\nTunnel2-Error: backend-refused\r\nContent-Length: 0\r\n\r\n", nameof(FailureKind.WrongStatus),
        "502 backend-refused")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc", nameof(FailureKind.WrongBody), "")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", nameof(FailureKind.Truncated), "")]
    [InlineData("nonsense\r\n\r\n", nameof(FailureKind.Malformed), "")]
    [InlineData("", nameof(FailureKind.ClosedUnanswered), "")]
    public async Task A_backend_that_lies_is_counted_by_kind(string answer, string kind, string detail)
    {
        await using var backend = RawTcpServer.StartAnswering(answer);

        var result = await RunAsync(backend.EndPoint, new TrafficFlow("requests", _download, [LoadStep.Steady(50, 0.2)]));

        var failures = result.Flows[0].Total.Failures;
        Assert.Equal(10, failures.ByKind[kind]);
        Assert.Equal(10, failures.Total);
        Assert.True(detail.Length == 0 || failures.Details[detail] == 10);
        Assert.Equal(0, result.Flows[0].Total.Ok);
    }

    [Fact]
    public async Task A_reset_in_the_middle_is_counted_as_one()
    {
        await using var backend = RawTcpServer.Start(static async connection =>
        {
            await connection.ReadHeadAsync();
            connection.Reset();
        });

        var result = await RunAsync(backend.EndPoint, new TrafficFlow("requests", _download, [LoadStep.Steady(50, 0.2)]));

        Assert.Equal(10, result.Flows[0].Total.Failures[FailureKind.Reset]);
    }

    [Fact]
    public async Task An_address_without_a_listener_is_counted_as_refused()
    {
        using var port = new RefusedPort();
        var result = await RunAsync(
            port.EndPoint, new TrafficFlow("requests", _download, [LoadStep.Steady(100, 0.2)]) { MaxConnections = 2 });

        Assert.Equal(20, result.Flows[0].Total.Failures[FailureKind.ConnectRefused]);
    }

    [Fact]
    public async Task A_backend_that_stalls_does_not_hold_up_the_schedule_and_those_without_a_connection_are_counted_too()
    {
        await using var backend = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        var flow = new TrafficFlow("requests", _download, [LoadStep.Steady(50, 0.4)])
        {
            MaxConnections = 3,
            Timeout = TimeSpan.FromMilliseconds(700),
        };

        var result = await RunAsync(backend.EndPoint, flow);

        var total = result.Flows[0].Total;
        Assert.Equal(20, total.Arrivals);
        Assert.Equal(20, total.Failures[FailureKind.Timeout] + total.Failures[FailureKind.NotSent]);
        Assert.InRange(total.Failures[FailureKind.Timeout], 3, 20);
        Assert.InRange(result.Elapsed, TimeSpan.FromMilliseconds(1000), TimeSpan.FromSeconds(10));
    }

    [Fact]
    public async Task Latency_counts_from_the_intended_start_also_while_waiting_for_a_connection()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions(), TestContext.Current.CancellationToken);
        var slow = new TrafficFlow(
            "slow", new RequestTemplate(RequestKind.Events, 3) { Interval = TimeSpan.FromMilliseconds(50) }, [LoadStep.Bursts(4, 1, 1)])
        {
            MaxConnections = 1,
        };

        var result = await RunAsync(backend.EndPoint, slow);

        // Four exchanges of 100 ms each on one connection: the last one was due when the first one was.
        var latency = result.Flows[0].Total.Latency;
        Assert.Equal(4, latency.Count);
        Assert.InRange(latency.PercentileTime(1), TimeSpan.FromMilliseconds(400), TimeSpan.FromSeconds(10));
    }

    [Fact]
    public async Task A_run_that_is_stopped_says_what_is_unfinished()
    {
        using var stop = new CancellationTokenSource();
        await using var backend = RawTcpServer.Start(async connection =>
        {
            await connection.ReadHeadAsync();
            await stop.CancelAsync();
            await connection.WaitForEndAsync();
        });

        var result = await RunAsync(backend.EndPoint, stop.Token, new TrafficFlow("requests", _download, [LoadStep.Steady(10, 60)]));

        Assert.True(result.WasStopped);
        Assert.InRange(result.Flows[0].Total.Outstanding, 1, 100);
        Assert.Equal(0, result.Flows[0].Total.Failures.Total);
    }

    [Fact]
    public async Task A_rising_load_is_ended_behind_the_first_step_that_is_not_held()
    {
        await using var backend = RawTcpServer.StartAnswering("HTTP/1.1 500 Sorry\r\nContent-Length: 0\r\n\r\n");

        var result = await RunAsync(
            backend.EndPoint,
            new TrafficFlow("requests", _download, [LoadStep.Steady(20, 1), LoadStep.Steady(30, 60)]) { StopAtKnee = true });

        Assert.Equal([20L, 0L], result.Flows[0].Steps.Select(static step => step.Arrivals));
    }

    private static Task<EngineResult> RunAsync(IPEndPoint endPoint, params TrafficFlow[] flows) =>
        RunAsync(endPoint, TestContext.Current.CancellationToken, flows);

    private static Task<EngineResult> RunAsync(IPEndPoint endPoint, CancellationToken cancellationToken, params TrafficFlow[] flows) =>
        new LoadEngine(new LoadScenario("test", "A test.", flows, []), endPoint, [endPoint.ToString()]).RunAsync(cancellationToken);

    private static FlowResult Flow(EngineResult result, string name) => result.Flows.Single(flow => flow.Flow.Name == name);
}
