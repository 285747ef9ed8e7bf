using System.IO.Compression;
using System.Net.Sockets;
using System.Net.WebSockets;
using System.Text;
using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Inspection.Capture;
using Tunnel2.TestBackend;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Inspecting;

[Trait("Engine", "each")]
public sealed class CaptureTests
{
    [Fact]
    public Task Heads_are_shown_in_wire_order_with_secrets_masked() => InspectedTunnel.RunAsync(
        InspectedTunnel.Answering(
            "HTTP/1.1 200 Fine\r\nZ: 1\r\nset-cookie: sid=hidden; Path=/\r\nA: 2\r\nZ: 3\r\nContent-Length: 2\r\n\r\nok"),
        async inspected =>
        {
            await inspected.Tunnel.ExchangeAsync(
                "/path?x=1&access_token=hidden", fields: "B: 1\r\nAuthorization: Bearer hidden\r\na: 2\r\nB: 3\r\nCookie: s=hidden\r\n");
            await inspected.EndedAsync(1);
            var list = await inspected.GetAsync();
            var summary = Assert.Single(list.GetProperty("exchanges").EnumerateArray());
            Assert.Equal(
                ("GET", "/path?x=1&access_token=***", 200, true),
                (summary.GetProperty("method").GetString(), summary.GetProperty("target").GetString(),
                    summary.GetProperty("status").GetInt32(), summary.GetProperty("ended").GetBoolean()));
            var masked = await inspected.GetAsync("/1");
            Assert.DoesNotContain("hidden", masked.GetRawText(), StringComparison.Ordinal);
            Assert.StartsWith("Host|B|Authorization|a|B|Cookie|", Names(masked, "request") + "|", StringComparison.Ordinal);
            Assert.Equal("Z|set-cookie|A|Z|Content-Length", Names(masked, "response"));
            Assert.Contains("\"sid=***; Path=/\"", masked.GetRawText(), StringComparison.Ordinal);
            var revealed = await inspected.GetAsync("/1?reveal=1");
            Assert.Equal(5, revealed.GetRawText().Split("hidden").Length - 1);
            var legs = masked.GetProperty("timing").GetProperty("legs").EnumerateArray().ToList();
            Assert.Equal(["connect", "send", "wait", "receive"], legs.Select(leg => leg.GetProperty("name").GetString()));
            Assert.Equal(
                masked.GetProperty("durationMs").GetDouble(), legs.Sum(leg => leg.GetProperty("lengthMs").GetDouble()), tolerance: 0.01);
        });

    [Theory]
    [InlineData("gzip")]
    [InlineData("br")]
    public Task Coded_bodies_are_decoded_and_a_bomb_ends_at_the_limit(string coding)
    {
        var small = Compress(coding, Encoding.ASCII.GetBytes("{\"name\":\"me\",\"password\":\"hidden\"}"));
        var bomb = Compress(coding, new byte[50_000_000]);
        return InspectedTunnel.RunAsync(
            async connection =>
            {
                while (true)
                {
                    var head = await connection.ReadHeadAsync();
                    var body = head.Target == "/bomb" ? bomb : small;
                    await connection.WriteAsync(
                        $"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: {coding}\r\n"
                            + $"Content-Length: {body.Length}\r\n\r\n");
                    await connection.WriteAsync(body);
                }
            },
            async inspected =>
            {
                Assert.Equal(small, (await inspected.Tunnel.ExchangeAsync("/small")).Body.Bytes);
                Assert.Equal(bomb, (await inspected.Tunnel.ExchangeAsync("/bomb")).Body.Bytes);
                await inspected.EndedAsync(1);
                await inspected.EndedAsync(2);
                var shown = (await inspected.GetAsync("/1")).GetProperty("response").GetProperty("body");
                Assert.Equal("{\"name\":\"me\",\"password\":\"***\"}", shown.GetProperty("text").GetString());
                Assert.Equal(small.Length, shown.GetProperty("length").GetInt32());
                var cut = (await inspected.GetAsync("/2?reveal=1")).GetProperty("response").GetProperty("body");
                Assert.Equal("cut", cut.GetProperty("decoding").GetString());
                Assert.Equal(1024 * 1024, cut.GetProperty("decodedLength").GetInt32());
            });
    }

    [Theory]
    [InlineData("1.1", "HTTP/1.1")]
    [InlineData("2.0", "HTTP/2")]
    public Task Each_leg_has_its_own_version(string version, string shown) => InspectedTunnel.RunAsync(
        InspectedTunnel.Answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        async inspected =>
        {
            using var visitor = inspected.Tunnel.CreateClient();
            (visitor.DefaultRequestVersion, visitor.DefaultVersionPolicy) = (new Version(version), HttpVersionPolicy.RequestVersionExact);
            using var answer = await visitor.GetAsync("/");
            await inspected.EndedAsync(1);

            var exchange = await inspected.GetAsync("/1");
            Assert.Equal(shown, exchange.GetProperty("request").GetProperty("version").GetString());
            Assert.Equal("HTTP/1.1", exchange.GetProperty("response").GetProperty("version").GetString());
            var entry = (await inspected.GetAsync(".har?id=1")).GetProperty("log").GetProperty("entries")[0];
            Assert.Equal(shown, entry.GetProperty("request").GetProperty("httpVersion").GetString());
            Assert.Equal(shown, entry.GetProperty("response").GetProperty("httpVersion").GetString());
            Assert.Equal("HTTP/1.1", entry.GetProperty("_serviceHttpVersion").GetString());
        });

    [Fact]
    public Task Large_bodies_pass_with_the_memory_of_the_limit() => InspectedTunnel.RunAsync(
        async inspected =>
        {
            const int Length = 64 * 1024 * 1024;
            await using var visitor = await inspected.Tunnel.ConnectAsync();
            await visitor.SendRequestAsync($"/bytes/{Length}", TunnelFixture.Host);
            var body = visitor.OpenBody(await visitor.ReadHeadAsync());
            var buffer = new byte[256 * 1024];
            long total = 0;
            while (await body.ReadAsync(buffer) is > 0 and var count)
            {
                PatternBytes.Verify(buffer.AsSpan(0, count), total);
                total += count;
                Assert.InRange(inspected.Store.Bytes, 0, 100_000);
            }

            Assert.Equal(Length, total);
            var capture = await inspected.EndedAsync(1);
            Assert.Equal((Length, true), (capture.ResponseBody.Total, capture.ResponseBody.IsTruncated));
            PatternBytes.Verify(capture.ResponseBody.ToArray(), 0);
            Assert.Equal(20_000, capture.ResponseBody.ToArray().Length);
        },
        new InspectionLimits { BodyBytes = 20_000, Bytes = 100_000 });

    [Fact]
    public Task Messages_of_a_websocket_are_shown_both_ways() => InspectedTunnel.RunAsync(async inspected =>
    {
        using var socket = new ClientWebSocket();
        using var invoker = new HttpMessageInvoker(new SocketsHttpHandler
        {
            UseProxy = false,
            ConnectCallback = async (_, cancellationToken) =>
            {
                var connection = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                await connection.ConnectAsync(inspected.Tunnel.Entry.Http, cancellationToken);
                return new NetworkStream(connection, ownsSocket: true);
            },
        });
        var uri = new Uri($"ws://{TunnelFixture.Host}:{inspected.Tunnel.Entry.Http.Port}/ws-echo");
        await socket.ConnectAsync(uri, invoker, TestContext.Current.CancellationToken);
        await socket.SendAsync(
            "{\"token\":\"hidden\",\"a\":1}"u8.ToArray(), WebSocketMessageType.Text, true, TestContext.Current.CancellationToken);
        await socket.ReceiveAsync(new byte[1000].AsMemory(), TestContext.Current.CancellationToken);
        var open = await inspected.GetAsync("/1");
        Assert.Equal(("websocket", false), (open.GetProperty("kind").GetString(), open.GetProperty("ended").GetBoolean()));
        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, "bye", TestContext.Current.CancellationToken);
        await inspected.EndedAsync(1);
        var messages = (await inspected.GetAsync("/1")).GetProperty("messages").EnumerateArray().ToList();
        Assert.Equal(
            ["visitor text", "service text", "visitor close", "service close"],
            messages.Select(message => $"{message.GetProperty("from")} {message.GetProperty("kind")}"));
        Assert.All(messages[..2], message => Assert.Equal("{\"token\":\"***\",\"a\":1}", message.GetProperty("text").GetString()));
        Assert.Equal("1000 bye", messages[2].GetProperty("text").GetString());
        Assert.Equal("upgraded", (await inspected.PostAsync("/1/replay")).Json.GetProperty("code").GetString());
    });

    [Fact]
    public async Task Events_are_shown_as_they_pass()
    {
        var second = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await InspectedTunnel.RunAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: a\ndata: {\"token\":\"hidden\"}\n\n");
                await second.Task;
                await connection.WriteAsync("data: two\ndata: lines\n\n");
            },
            async inspected =>
            {
                await using var visitor = await inspected.Tunnel.ConnectAsync();
                await visitor.SendRequestAsync("/", TunnelFixture.Host);
                var body = visitor.OpenBody(await visitor.ReadHeadAsync());
                var buffer = new byte[1000];
                Assert.NotEqual(0, await body.ReadAsync(buffer));
                var open = await inspected.GetAsync("/1");
                var first = Assert.Single(open.GetProperty("messages").EnumerateArray());
                Assert.Equal("{\"token\":\"***\"}", first.GetProperty("text").GetString());
                Assert.Equal("events", open.GetProperty("kind").GetString());
                second.SetResult();
                while (await body.ReadAsync(buffer) > 0)
                {
                }

                await inspected.EndedAsync(1);
                var messages = (await inspected.GetAsync("/1")).GetProperty("messages").EnumerateArray();
                Assert.Equal(["a", "message"], messages.Select(message => message.GetProperty("event").GetString()));
            });
    }

    [Fact]
    public async Task An_exchange_with_a_service_of_http2_is_kept_like_any_other()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions { UseTls = true });
        await InspectedTunnel.RunAsync(
            backend.Port,
            async inspected =>
            {
                using var client = inspected.Tunnel.CreateClient();
                var body = new string('x', 100_000);
                using var response = await client.PostAsync(new Uri("/echo", UriKind.Relative), new StringContent(body));
                Assert.Equal(body, await response.Content.ReadAsStringAsync());
                var kept = await inspected.EndedAsync(1);
                Assert.Equal((200, 100_000L, 100_000L), (kept.Status, kept.RequestBody.Total, kept.ResponseBody.Total));
                Assert.NotEmpty(kept.Response.Fields);
                var shown = (await inspected.GetAsync("/1")).GetProperty("response").GetProperty("body").GetProperty("text");
                Assert.Equal(body, shown.GetString());
            },
            static options => options with { Upstream = options.Upstream with { IsHttps = true } });
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Trailers_of_both_sides_are_kept_in_wire_order_with_secrets_masked(bool comesInPieces)
    {
        var isRead = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await InspectedTunnel.RunAsync(
            async connection =>
            {
                await connection.ReadBodyAsync(await connection.ReadHeadAsync());
                const string Rest = "0\r\nz-sum: 1\r\nA: 2\r\nZ-Sum: 3\r\nConnection: x\r\nX-Api-Key: hidden\r\n\r\n";
                await connection.WriteAsync(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n" + (comesInPieces ? "" : Rest));
                if (comesInPieces)
                {
                    await isRead.Task;
                    await connection.WriteAsync(Rest);
                }

                await connection.WaitForEndAsync();
            },
            async inspected =>
            {
                await using var visitor = await inspected.Tunnel.ConnectAsync();
                await visitor.WriteAsync(
                    $"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + "2\r\nhi\r\n0\r\nb-Sum: 1\r\nA: 2\r\nB-Sum: 3\r\nX-Token: hidden\r\n\r\n");
                var body = visitor.OpenBody(await visitor.ReadHeadAsync());
                var buffer = new byte[100];
                Assert.NotEqual(0, await body.ReadAsync(buffer));
                isRead.SetResult();
                while (await body.ReadAsync(buffer) > 0)
                {
                }

                await inspected.EndedAsync(1);
                var shown = await inspected.GetAsync("/1");
                Assert.Equal("b-Sum=1|A=2|B-Sum=3|X-Token=***", Trailers(shown, "request"));
                Assert.Equal("z-sum=1|A=2|Z-Sum=3|Connection=x|X-Api-Key=***", Trailers(shown, "response"));
                var revealed = await inspected.GetAsync("/1?reveal=1");
                Assert.EndsWith("X-Api-Key=hidden", Trailers(revealed, "response"), StringComparison.Ordinal);
                Assert.Single((await inspected.GetAsync("?q=z-sum:")).GetProperty("exchanges").EnumerateArray());
                Assert.Empty((await inspected.GetAsync("?q=hidden")).GetProperty("exchanges").EnumerateArray());
            });
    }

    [Fact]
    public async Task Trailers_of_a_service_of_http2_are_kept()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions { UseTls = true });
        await InspectedTunnel.RunAsync(
            backend.Port,
            async inspected =>
            {
                await using var visitor = await inspected.Tunnel.ConnectAsync();
                await visitor.WriteAsync(
                    $"POST /echo HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + "2\r\nhi\r\n0\r\nb-Sum: 1\r\nA: 2\r\n\r\n");
                await visitor.ReadBodyAsync(await visitor.ReadHeadAsync());
                await inspected.EndedAsync(1);
                Assert.Equal("b-Sum=1|A=2", Trailers(await inspected.GetAsync("/1"), "request"));
                await inspected.Tunnel.ExchangeAsync("/trailers?x-sum=5&x-other=6", fields: "TE: trailers\r\nConnection: TE\r\n");
                await inspected.EndedAsync(2);
                Assert.Equal("x-sum=5|x-other=6", Trailers(await inspected.GetAsync("/2"), "response"));
            },
            static options => options with { Upstream = options.Upstream with { IsHttps = true } });
    }

    [Fact]
    public Task A_failure_has_its_leg_and_its_reason() => InspectedTunnel.RunAsync(
        async connection => await connection.ReadHeadAsync(),
        async inspected =>
        {
            Assert.Equal(502, (await inspected.Tunnel.ExchangeAsync("/", method: "POST", fields: "Content-Length: 0\r\n")).Head.StatusCode);
            await inspected.EndedAsync(1);
            var failed = Assert.Single((await inspected.GetAsync("?status=error")).GetProperty("exchanges").EnumerateArray());
            Assert.Equal("backend", failed.GetProperty("leg").GetString());
            Assert.NotEqual("", failed.GetProperty("error").GetString());
            Assert.Equal(0, failed.GetProperty("status").GetInt32());
        });

    [Fact]
    public Task The_inspector_knows_whether_the_agent_is_connected() => InspectedTunnel.RunAsync(async inspected =>
    {
        Assert.Equal(1, inspected.Inspection.OpenSessions);
        await inspected.Tunnel.Agent.StopAsync();
        Assert.Equal(0, inspected.Inspection.OpenSessions);
    });

    [Fact]
    public Task A_list_can_be_searched_and_waited_for() => InspectedTunnel.RunAsync(
        InspectedTunnel.Answering("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nneedle"),
        async inspected =>
        {
            var version = (await inspected.GetAsync()).GetProperty("version").GetInt64();
            var waiting = inspected.GetAsync($"?since={version}&wait=20");
            await inspected.Tunnel.ExchangeAsync("/one", fields: "X-Kind: hay\r\nAuthorization: secretneedle\r\n");
            Assert.NotEqual(version, (await waiting).GetProperty("version").GetInt64());
            await inspected.EndedAsync(1);
            Assert.Single(await FoundAsync("?q=NEEDLE"));
            Assert.Single(await FoundAsync("?q=x-kind%3A+hay"));
            Assert.Single(await FoundAsync("?q=/one&method=get&status=2xx&kind=http"));
            Assert.Empty(await FoundAsync("?q=secretneedle"));
            Assert.Empty(await FoundAsync("?method=POST"));
            Assert.Empty(await FoundAsync("?status=404"));
            Assert.Empty(await FoundAsync("?before=1"));

            async Task<IReadOnlyList<JsonElement>> FoundAsync(string query) =>
                [.. (await inspected.GetAsync(query)).GetProperty("exchanges").EnumerateArray()];
        });

    [Fact]
    public Task A_status_without_a_class_of_its_own_is_one_of_the_failures() => InspectedTunnel.RunAsync(
        InspectedTunnel.Answering("HTTP/1.1 999 Request denied\r\nContent-Length: 0\r\n\r\n"),
        async inspected =>
        {
            Assert.Equal(999, (await inspected.Tunnel.ExchangeAsync("/")).Head.StatusCode);
            await inspected.EndedAsync(1);
            Assert.Equal(1, (await inspected.GetAsync("?status=5xx")).GetProperty("exchanges").GetArrayLength());
            Assert.Equal(0, (await inspected.GetAsync("?status=4xx")).GetProperty("exchanges").GetArrayLength());
        });

    private static string Trailers(JsonElement exchange, string side) => string.Join(
        '|', exchange.GetProperty(side).GetProperty("trailers").EnumerateArray().Select(
            static field => $"{field.GetProperty("name")}={field.GetProperty("value")}"));

    private static string Names(JsonElement exchange, string side) => string.Join(
        '|', exchange.GetProperty(side).GetProperty("fields").EnumerateArray().Select(field => field.GetProperty("name").GetString()));

    private static byte[] Compress(string coding, byte[] body)
    {
        using var output = new MemoryStream();
        using (Stream coder = coding == "gzip"
            ? new GZipStream(output, CompressionLevel.Fastest, leaveOpen: true)
            : new BrotliStream(output, CompressionLevel.Fastest, leaveOpen: true))
        {
            coder.Write(body);
        }

        return output.ToArray();
    }
}
