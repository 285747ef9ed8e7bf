using System.Net.Sockets;
using System.Net.WebSockets;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>A visitor may come to any node: what arrives at the service, and what comes back, is the same.</summary>
[Trait("Engine", "each")]
public sealed class NodeForwardingTests
{
    private const int Large = 3_000_000;

    [Fact]
    public Task A_request_at_another_node_reaches_the_service_as_the_visitor_sent_it() => ClusterFixture.RunAsync(
        static async connection =>
        {
            while (true)
            {
                var head = await connection.ReadHeadAsync();
                var text = string.Join('\n', head.Fields.Select(static field => $"{field.Key}: {field.Value}"));
                await connection.WriteAsync(
                    $"HTTP/1.1 200 Fine\r\nX-Target: {head.Target}\r\nConnection: x-hop\r\nX-Hop: 1\r\n"
                        + $"Content-Length: {text.Length}\r\n\r\n{text}");
            }
        },
        static async cluster =>
        {
            await using var visitor = await cluster.ConnectAsync();
            for (var i = 0; i < 3; i++)
            {
                var (head, body) = await visitor.ExchangeAsync(
                    "/a?b=%20c", ClusterFixture.Host, "GET",
                    "X-Twice: 1\r\nX-Twice: 2\r\nX-Forwarded-For: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\nTunnel2-Source: 6.6.6.6:1\r\n"
                        + "Tunnel2-Hops: 0\r\nConnection: x-mine\r\nX-Mine: 1\r\n");
                Assert.Equal(("HTTP/1.1 200 Fine", "/a?b=%20c", null), (head.StartLine, head["X-Target"], head["X-Hop"]));
                var lines = body.Text.Split('\n');
                Assert.Equal(
                    ["X-Twice: 1", "X-Twice: 2"], lines.Where(static line => line.StartsWith("X-Twice", StringComparison.Ordinal)));
                Assert.Single(lines, "X-Forwarded-For: 127.0.0.1");
                Assert.Single(lines, $"X-Forwarded-Host: {ClusterFixture.Host}");
                Assert.Single(lines, "X-Forwarded-Proto: http");
                Assert.Single(lines, $"X-Forwarded-Port: {cluster.Front.Http.Port}");
                Assert.Equal(
                    [$"Forwarded: for=127.0.0.1;host=\"{ClusterFixture.Host}\";proto=http;by=_tunnel2"],
                    lines.Where(static line => line.StartsWith("Forwarded:", StringComparison.Ordinal)));
                Assert.DoesNotContain("6.6.6.6", body.Text, StringComparison.Ordinal);
                Assert.DoesNotContain("Mine", body.Text, StringComparison.OrdinalIgnoreCase);
                Assert.DoesNotContain("Tunnel2-", body.Text, StringComparison.OrdinalIgnoreCase);
            }

            // Asked once, then known; and one link for all, or the next one where that was on the wrong loop.
            Assert.Equal(1, cluster.Knowledge.Asked.Value);
            Assert.InRange(ClusterFixture.LinksOf(cluster.Front), 1, 2);
            Assert.Equal(0, ClusterFixture.LinksOf(cluster.Owner));
        });

    [Fact]
    public Task An_error_of_another_node_has_its_reason_phrase() => ClusterFixture.RunAsync(
        static async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.CloseAsync();
        },
        static async cluster =>
        {
            var (head, _) = await cluster.ExchangeAsync();
            Assert.Equal(("HTTP/1.1 502 Bad Gateway", "backend-closed"), (head.StartLine, head["Tunnel2-Error"]));
        });

    [Fact]
    public Task An_upgrade_that_the_service_requires_is_named_at_another_node_too() => ClusterFixture.RunAsync(
        static async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 426 No\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n");
            await connection.WaitForEndAsync();
        },
        static async cluster =>
        {
            await using var visitor = await cluster.ConnectAsync();
            var (head, _) = await visitor.ExchangeAsync("/", ClusterFixture.Host);
            Assert.Equal(("HTTP/1.1 426 No", "websocket", "Upgrade"), (head.StartLine, head["Upgrade"], head["Connection"]));
        });

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task Bodies_pass_in_both_directions_at_once(bool chunked) => ClusterFixture.RunAsync(
        static async connection =>
        {
            var head = await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            var body = connection.OpenBody(head);
            var buffer = new byte[64 * 1024];
            while (await body.ReadAsync(buffer) is > 0 and var count)
            {
                await connection.WriteAsync($"{count:x}\r\n");
                await connection.WriteAsync(buffer.AsMemory(0, count));
                await connection.WriteAsync("\r\n");
            }

            var trailers = string.Concat(body.Trailers.Select(static field => $"{field.Key}: {field.Value}\r\n"));
            await connection.WriteAsync($"0\r\nX-Sum: 17\r\n{trailers}\r\n");
            await connection.WaitForEndAsync();
        },
        async cluster =>
        {
            await using var visitor = await cluster.ConnectAsync();
            await visitor.WriteAsync(
                $"POST / HTTP/1.1\r\nHost: {ClusterFixture.Host}\r\nTE: trailers\r\n"
                    + (chunked ? "Transfer-Encoding: chunked\r\n\r\n" : $"Content-Length: {Large}\r\n\r\n"));
            var sending = Task.Run(async () =>
            {
                for (var position = 0; position < Large;)
                {
                    var piece = PatternBytes.Window(position, Math.Min(50_000, Large - position));
                    if (chunked)
                    {
                        await visitor.WriteAsync($"{piece.Length:x}\r\n");
                    }

                    await visitor.WriteAsync(piece);
                    if (chunked)
                    {
                        await visitor.WriteAsync("\r\n");
                    }

                    position += piece.Length;
                }

                if (chunked)
                {
                    await visitor.WriteAsync("0\r\nX-Mine: 5\r\n\r\n");
                }
            });
            var answer = await visitor.ReadHeadAsync();
            var body = visitor.OpenBody(answer);
            var buffer = new byte[64 * 1024];
            var total = 0;
            while (await body.ReadAsync(buffer) is > 0 and var count)
            {
                PatternBytes.Verify(buffer.AsSpan(0, count), total);
                total += count;
            }

            await sending;
            Assert.Equal((200, Large, ConnectionEnding.Complete), (answer.StatusCode, total, body.Ending));
            Assert.Equal(chunked ? ["X-Sum", "X-Mine"] : ["X-Sum"], body.Trailers.Select(static field => field.Key));
        });

    [Fact]
    public Task Interim_responses_and_a_100_pass() => ClusterFixture.RunAsync(
        static async connection =>
        {
            var head = await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
            await connection.WriteAsync("HTTP/1.1 100 Continue\r\n\r\n");
            var body = await connection.ReadBodyAsync(head);
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\nX-Got: {body.Text}\r\nContent-Length: 0\r\n\r\n");
            await connection.WaitForEndAsync();
        },
        static async cluster =>
        {
            await using var visitor = await cluster.ConnectAsync();
            await visitor.SendRequestAsync("/", ClusterFixture.Host, "POST", "Expect: 100-continue\r\nContent-Length: 3\r\n");
            var hints = await visitor.ReadHeadAsync();
            Assert.Equal((103, "</a>"), (hints.StatusCode, hints["Link"]));
            Assert.Equal(100, (await visitor.ReadHeadAsync()).StatusCode);
            await visitor.WriteAsync("abc");
            Assert.Equal("abc", (await visitor.ReadHeadAsync())["X-Got"]);
        });

    [Fact]
    public Task A_visitor_of_http_2_is_served_too() => ClusterFixture.RunAsync(
        static async connection =>
        {
            while (true)
            {
                var head = await connection.ReadHeadAsync();
                var body = await connection.ReadBodyAsync(head);
                await connection.WriteAsync("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
                await connection.WriteAsync(
                    $"HTTP/1.1 200 OK\r\nX-Got: {body.Text}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-End: 1\r\n\r\n");
            }
        },
        static async cluster =>
        {
            await using var visitor = await Http2Visitor.ConnectAsync(cluster.Front.Http, isTls: false);
            for (var i = 0; i < 3; i++)
            {
                var stream = await visitor.SendAsync(Http2Visitor.Request(false, "/", "POST"), $"body {i}");
                var answer = await stream.ReadWholeAsync();
                Assert.Equal((200, "ok", $"body {i}"), (answer.Status, answer.Body, answer["x-got"]));
                Assert.Equal(1, stream.InterimCount.Value);
                Assert.Contains(stream.Blocks[^1], static field => field is ("x-end", "1"));
            }
        });

    [Fact]
    public Task Events_pass_as_they_come_and_the_service_learns_that_the_visitor_left()
    {
        var left = new WaitSignal("the service has seen the visitor leave");
        return ClusterFixture.RunAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
                await connection.WriteAsync("9\r\ndata: 1\n\n\r\n");
                await connection.WriteAsync("9\r\ndata: 2\n\n\r\n");
                await connection.WaitForEndAsync();
                left.Set();
            },
            async cluster =>
            {
                await using var visitor = await cluster.ConnectAsync();
                await visitor.SendRequestAsync("/", ClusterFixture.Host);
                var body = visitor.OpenBody(await visitor.ReadHeadAsync());
                var buffer = new byte[18];
                for (var read = 0; read < buffer.Length;)
                {
                    read += await body.ReadAsync(buffer.AsMemory(read));
                }

                Assert.Equal("data: 1\n\ndata: 2\n\n", Encoding.ASCII.GetString(buffer));
                visitor.Reset();
                await left.WaitAsync(TimeSpan.FromSeconds(30));
            });
    }

    [Fact]
    public async Task A_WebSocket_lives_across_nodes()
    {
        await using var backend = await TestBackend.TestBackendServer.StartAsync(new TestBackend.TestBackendOptions());
        await ClusterFixture.RunAsync(
            static _ => Task.CompletedTask,
            async cluster =>
            {
                await using var agent = await AgentFixture.StartReadyAsync(
                    AgentFixture.Options(cluster.Owner.Uplink.Port, backend.Port, "sockets"));
                cluster.Knowledge.Truth["sockets"] = cluster.PlaceOf(0, epoch: 1);
                using var socket = await ConnectAsync(cluster.Front.Http, "sockets.localhost");
                var buffer = new byte[1024];
                for (var i = 0; i < 20; i++)
                {
                    var message = Encoding.ASCII.GetBytes($"message {i}");
                    await socket.SendAsync(message, WebSocketMessageType.Text, true, CancellationToken.None);
                    var received = await socket.ReceiveAsync(buffer.AsMemory(), CancellationToken.None);
                    Assert.Equal($"message {i}", Encoding.ASCII.GetString(buffer, 0, received.Count));
                }

                await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, "bye", CancellationToken.None);
                Assert.Equal((WebSocketCloseStatus.NormalClosure, "bye"), (socket.CloseStatus, socket.CloseStatusDescription));
            });
    }

    [Fact]
    public async Task A_WebSocket_of_another_node_gets_a_goodbye_when_its_visitors_node_stops()
    {
        await using var backend = await TestBackend.TestBackendServer.StartAsync(new TestBackend.TestBackendOptions());
        await ClusterFixture.RunAsync(
            static _ => Task.CompletedTask,
            async cluster =>
            {
                await using var agent = await AgentFixture.StartReadyAsync(
                    AgentFixture.Options(cluster.Owner.Uplink.Port, backend.Port, "sockets"));
                cluster.Knowledge.Truth["sockets"] = cluster.PlaceOf(0, epoch: 1);
                using var socket = await ConnectAsync(cluster.Front.Http, "sockets.localhost");
                var stopping = cluster.Front.StopAsync();
                var received = await socket.ReceiveAsync(new Memory<byte>(new byte[16]), CancellationToken.None);
                Assert.Equal(WebSocketMessageType.Close, received.MessageType);
                Assert.Equal(WebSocketCloseStatus.EndpointUnavailable, socket.CloseStatus);
                await socket.CloseAsync(WebSocketCloseStatus.EndpointUnavailable, null, CancellationToken.None);
                await stopping;
            });
    }

    [Fact]
    public Task The_node_of_the_session_counts_and_judges_and_the_other_one_only_passes() => ClusterFixture.RunAsync(
        ClusterFixture.ServeOkAsync,
        static async cluster =>
        {
            for (var i = 0; i < 5; i++)
            {
                Assert.Equal(200, (await cluster.ExchangeAsync()).Head.StatusCode);
            }

            await WaitSignal.UntilAsync(
                () => ClusterFixture.Sum(cluster.Owner, "tunnel2_entry_requests_total") == 5, "the owner has counted the requests");
            Assert.Equal(0, ClusterFixture.Sum(cluster.Front, "tunnel2_entry_requests_total"));
            Assert.Equal((5, 0), (
                ClusterFixture.Sum(cluster.Front, "tunnel2_entry_node_streams_total", "out"),
                ClusterFixture.Sum(cluster.Front, "tunnel2_entry_node_streams_total", "in")));
            Assert.Equal(5, ClusterFixture.Sum(cluster.Owner, "tunnel2_entry_node_streams_total", "in"));
        });

    private static async Task<ClientWebSocket> ConnectAsync(System.Net.IPEndPoint front, string host)
    {
        var socket = new ClientWebSocket();
        using var invoker = new HttpMessageInvoker(new SocketsHttpHandler
        {
            UseProxy = false,
            ConnectCallback = async (_, cancellationToken) =>
            {
                var connection = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                await connection.ConnectAsync(front, cancellationToken);
                return new NetworkStream(connection, ownsSocket: true);
            },
        });
        await socket.ConnectAsync(new Uri($"ws://{host}:{front.Port}/ws-echo"), invoker, CancellationToken.None);
        return socket;
    }
}
