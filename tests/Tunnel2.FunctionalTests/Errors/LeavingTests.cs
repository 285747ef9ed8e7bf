using System.Diagnostics;
using System.Net.Sockets;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Errors;

/// <summary>Visitors who leave while a response flows that never pauses: the service is to see it, through anything between them.</summary>
[Trait("Engine", "each")]
public sealed class LeavingTests
{
    private const string Events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    private const string Event = "9\r\ndata: x\n\n\r\n";

    private static readonly TimeSpan _second = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan _interval = TimeSpan.FromMilliseconds(40);

    /// <summary>How a visitor leaves.</summary>
    public enum Departure
    {
        /// <summary>In order; over TLS with its close_notify.</summary>
        Close,

        /// <summary>As the system ends a killed process: over TLS without a word.</summary>
        Fin,

        /// <summary>With a reset.</summary>
        Reset,
    }

    public static TheoryData<string, string, Departure> Departures
    {
        get
        {
            var data = new TheoryData<string, string, Departure>();
            foreach (var front in FrontVisitor.Kinds.Where(static kind => kind.Contains("HTTP/1.1", StringComparison.Ordinal)))
            {
                foreach (var engine in new[] { "auto", "portable" })
                {
                    foreach (var departure in Enum.GetValues<Departure>())
                    {
                        data.Add(front, engine, departure);
                    }
                }
            }

            return data;
        }
    }

    public static TheoryData<string, string> Flows
    {
        get
        {
            var data = new TheoryData<string, string>();
            foreach (var front in new[] { "HTTP/1.1", "HTTP/1.1 over TLS" })
            {
                data.Add(front, "close-delimited");
                data.Add(front, "declared");
                data.Add(front, "upgraded");
                data.Add(front, "bulk");
            }

            return data;
        }
    }

    [Theory]
    [MemberData(nameof(Departures))]
    public async Task A_visitor_that_leaves_a_response_that_keeps_flowing_is_gone_for_the_service(
        string front, string engine, Departure departure)
    {
        var ended = new AsyncCounter("connections to the service that ended");
        await FrontVisitor.RunRawAsync(
            [$"Engine={engine}"],
            connection => FlowAsync(connection, Events, Event, ended),
            tunnel => Promptness.AssertWithinAsync(_second, async number =>
            {
                await using var visitor = await FrontVisitor.ConnectRawAsync(front, tunnel);
                await visitor.SendRequestAsync("/", TunnelFixture.Host);
                await visitor.ReadThroughAsync("data: x\n\n\r\n");
                var left = Stopwatch.GetTimestamp();
                await LeaveAsync(visitor, departure);
                await ended.WaitForAsync(number + 1);
                return left;
            }));
    }

    [Theory]
    [MemberData(nameof(Flows))]
    public async Task Any_bytes_flow(string front, string flow)
    {
        var ended = new AsyncCounter("connections to the service that ended");
        var (head, piece) = flow switch
        {
            "close-delimited" => ("HTTP/1.1 200 OK\r\n\r\n", "data: x\n\n"),
            "declared" => ("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", "data: x\n\n"),
            "bulk" => ("HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\ndata: x\n\n", new string('x', 60_000)),
            _ => ("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n", "data: x\n\n"),
        };
        await FrontVisitor.RunRawAsync(
            [],
            connection => FlowAsync(connection, head, piece, ended, flow == "bulk" ? TimeSpan.Zero : _interval),
            tunnel => Promptness.AssertWithinAsync(_second, async number =>
            {
                await using var visitor = await FrontVisitor.ConnectRawAsync(front, tunnel);
                await visitor.SendRequestAsync(
                    "/", TunnelFixture.Host, fields: flow == "upgraded" ? "Connection: Upgrade\r\nUpgrade: raw\r\n" : "");
                await visitor.ReadThroughAsync("data: x\n\n");
                var left = Stopwatch.GetTimestamp();
                await LeaveAsync(visitor, Departure.Fin);
                await ended.WaitForAsync(number + 1);
                return left;
            }));
    }

    [Theory]
    [InlineData("HTTP/1.1")]
    [InlineData("HTTP/1.1 over TLS")]
    public async Task A_visitor_that_leaves_while_its_body_is_still_coming_and_the_answer_flows_is_gone(string front)
    {
        var ended = new AsyncCounter("connections to the service that ended");
        await FrontVisitor.RunRawAsync(
            [],
            connection => FlowAsync(connection, Events, Event, ended),
            tunnel => Promptness.AssertWithinAsync(_second, async number =>
            {
                await using var visitor = await FrontVisitor.ConnectRawAsync(front, tunnel);
                await visitor.SendRequestAsync("/", TunnelFixture.Host, "POST", "Content-Length: 1000000\r\n");
                await visitor.WriteAsync("some of it");
                await visitor.ReadThroughAsync("data: x\n\n\r\n");
                var left = Stopwatch.GetTimestamp();
                await LeaveAsync(visitor, Departure.Fin);
                await ended.WaitForAsync(number + 1);
                return left;
            }));
    }

    [Theory]
    [InlineData("HTTP/2 over TLS", "stream")]
    [InlineData("HTTP/2 over TLS", "fin")]
    [InlineData("HTTP/2 over TLS", "reset")]
    [InlineData("HTTP/2 by preface", "stream")]
    [InlineData("HTTP/2 by preface", "fin")]
    [InlineData("HTTP/2 by preface", "reset")]
    public async Task Over_HTTP_2_too(string front, string leaves)
    {
        var ended = new AsyncCounter("connections to the service that ended");
        await FrontVisitor.RunAsync(
            front,
            connection => FlowAsync(connection, Events, Event, ended),
            visitor => Promptness.AssertWithinAsync(_second, async number =>
            {
                using var response = await visitor.Client.GetAsync("/", HttpCompletionOption.ResponseHeadersRead);
                var body = await response.Content.ReadAsStreamAsync();
                await body.ReadExactlyAsync(new byte[9]);
                var left = Stopwatch.GetTimestamp();
                switch (leaves)
                {
                    case "stream":
                        await body.DisposeAsync();
                        break;
                    case "reset":
                        visitor.Connection.LingerState = new LingerOption(true, 0);
                        visitor.Connection.Close();
                        break;
                    default:
                        visitor.Connection.Close();
                        break;
                }

                await ended.WaitForAsync(number + 1);
                return left;
            }));
    }

    /// <summary>RFC 8446 section 6.1: close_notify ends one direction only.</summary>
    [Theory]
    [InlineData("HTTP/1.1")]
    [InlineData("HTTP/1.1 over TLS")]
    public async Task A_visitor_that_has_ended_its_direction_and_reads_on_gets_all_that_flows(string front)
    {
        var ended = new AsyncCounter("connections to the service that ended");
        await FrontVisitor.RunRawAsync(
            [],
            connection => FlowAsync(connection, Events, Event, ended),
            async tunnel =>
            {
                await using var visitor = await FrontVisitor.ConnectRawAsync(front, tunnel);
                await visitor.SendRequestAsync("/", TunnelFixture.Host);
                await visitor.ReadHeadAsync();
                await visitor.ShutdownSendAsync();
                for (var i = 0; i < 30; i++)
                {
                    await visitor.ReadThroughAsync("data: x\n\n\r\n");
                }

                Assert.Equal(0, ended.Value);
                visitor.Reset();
                await ended.WaitForAsync(1);
            });
    }

    private static async Task LeaveAsync(RawHttpClient visitor, Departure departure)
    {
        if (departure == Departure.Reset)
        {
            visitor.Reset();
            return;
        }

        if (departure == Departure.Close)
        {
            await visitor.ShutdownSendAsync();
        }

        visitor.Socket.Close();
    }

    private static async Task FlowAsync(RawConnection connection, string head, string piece, AsyncCounter ended, TimeSpan? interval = null)
    {
        await connection.ReadHeadAsync();
        try
        {
            await connection.WriteAsync(head);
            var end = connection.WaitForEndAsync();
            while (!end.IsCompleted)
            {
                await connection.WriteAsync(piece);
                await Task.Delay(interval ?? _interval);
            }
        }
        catch (IOException)
        {
            // The agent has closed it.
        }

        ended.Increment();
    }
}
