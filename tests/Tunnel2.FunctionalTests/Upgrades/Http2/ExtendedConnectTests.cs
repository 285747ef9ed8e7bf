using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Upgrades.Http2;

/// <summary>How an extended CONNECT (RFC 8441) becomes the upgrade of HTTP/1.1, and the answer to that the visitor's.</summary>
public sealed class ExtendedConnectTests
{
    public static TheoryData<string> Kinds => Http2Tunnel.Kinds;

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task A_stream_becomes_an_upgrade_at_the_backend_and_its_101_a_200(string kind)
    {
        RawHttpHead? head = null;
        await Http2Tunnel.RunAsync(
            kind,
            async connection =>
            {
                head = await Http2Tunnel.SwitchAsync(
                    connection, "Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Extensions: permessage-deflate\r\nX-Mine: yes\r\n");
                await connection.WriteAsync("hello");
                Assert.Equal("question"u8.ToArray(), await connection.ReadExactlyAsync(8));
                await connection.WriteAsync("answer");
                await connection.CloseAsync();
            },
            async (visitor, _) =>
            {
                Assert.Equal(1u, visitor.Settings[8]);
                var stream = await visitor.ConnectAsync(
                    "/socket?a=b&c=%20", Http2Tunnel.Scheme(kind), ("sec-websocket-protocol", "chat, talk"),
                    ("sec-websocket-extensions", "permessage-deflate"),
                    ("origin", "https://elsewhere.example"), ("sec-websocket-key", "bWluZSBteSBvd24ga2V5IQ=="),
                    ("sec-websocket-accept", "x"), ("cookie", "a=1"), ("cookie", "b=2"), ("x-forwarded-for", "6.6.6.6"));
                var (status, fields) = await stream.ReadAnswerAsync();
                Assert.Equal(200, status);
                Assert.Equal(["chat"], fields["sec-websocket-protocol"]);
                Assert.Equal(["permessage-deflate"], fields["sec-websocket-extensions"]);
                Assert.Equal(["yes"], fields["x-mine"]);
                Assert.DoesNotContain(
                    fields,
                    static field =>
                        field.Key is "sec-websocket-accept" or "connection" or "upgrade" or "content-length" or "transfer-encoding");
                Assert.Equal("hello"u8.ToArray(), await stream.ReadAsync(5));
                await stream.WriteAsync("question"u8.ToArray());
                Assert.Equal("answer"u8.ToArray(), await stream.ReadToEndAsync());
                await stream.WriteAsync(default, end: true);
            });

        Assert.Equal("GET /socket?a=b&c=%20 HTTP/1.1", head!.StartLine);
        Assert.Equal(["websocket"], head.All("Upgrade"));
        Assert.Equal(["upgrade"], head.All("Connection").Select(static value => value.ToLowerInvariant()));
        Assert.Equal(16, Convert.FromBase64String(Assert.Single(head.All("Sec-WebSocket-Key"))).Length);
        Assert.NotEqual("bWluZSBteSBvd24ga2V5IQ==", head["Sec-WebSocket-Key"]);
        Assert.Equal(["13"], head.All("Sec-WebSocket-Version"));
        Assert.Equal(["chat, talk"], head.All("Sec-WebSocket-Protocol"));
        Assert.Equal(["permessage-deflate"], head.All("Sec-WebSocket-Extensions"));
        Assert.Equal(["https://elsewhere.example"], head.All("Origin"));
        Assert.Equal(["a=1; b=2"], head.All("Cookie"));
        Assert.Equal([Http2Tunnel.Scheme(kind)], head.All("X-Forwarded-Proto"));
        Assert.Equal([TunnelFixture.Host], head.All("Host"));
        Assert.Equal(["127.0.0.1"], head.All("X-Forwarded-For"));
        Assert.DoesNotContain(
            head.Fields,
            static field =>
                field.Key[0] == ':' || field.Key.ToUpperInvariant() is "SEC-WEBSOCKET-ACCEPT" or "CONTENT-LENGTH" or "TRANSFER-ENCODING");
    }

    [Fact]
    public async Task Each_stream_has_a_key_of_its_own()
    {
        var keys = new List<string>();
        await Http2Tunnel.RunAsync(
            "HTTP/2 by preface",
            async connection =>
            {
                var head = await Http2Tunnel.SwitchAsync(connection);
                lock (keys)
                {
                    keys.Add(head["Sec-WebSocket-Key"]!);
                }

                await connection.CloseAsync();
            },
            async (visitor, _) =>
            {
                for (var i = 0; i < 3; i++)
                {
                    var stream = await visitor.ConnectAsync("/", "http");
                    Assert.Equal(200, (await stream.ReadAnswerAsync()).Status);
                    await stream.WriteAsync(default, end: true);
                    Assert.Empty(await stream.ReadToEndAsync());
                }
            });
        Assert.Equal(3, keys.Distinct().Count());
    }

    [Theory]
    [InlineData("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nX-Why: refused\r\n\r\nno", 403, "no")]
    [InlineData("HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nno!\r\n0\r\n\r\n", 404, "no!")]
    [InlineData("HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n", 302, "")]
    [InlineData("HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n", 426, "")]
    [InlineData("HTTP/1.1 500 Oops\r\n\r\nuntil the end", 500, "until the end")]
    public Task An_answer_that_does_not_switch_is_the_visitors_with_its_body(
        string answer, int status, string body) => Http2Tunnel.RunAsync(
        "HTTP/2 over TLS",
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync(answer);
            await connection.CloseAsync();
        },
        async (visitor, _) =>
        {
            var stream = await visitor.ConnectAsync("/", "https");
            var (got, fields) = await stream.ReadAnswerAsync();
            Assert.Equal(status, got);
            Assert.Equal(body, Encoding.ASCII.GetString(await stream.ReadToEndAsync()));
            Assert.Equal(status == 302 ? ["/login"] : [], fields["location"]);
            Assert.Empty(fields["upgrade"]);

            // The visitor's direction is not wanted any more, and says so (RFC 9113 section 8.1).
            Assert.Equal(0u, await stream.WaitForResetAsync());
        });

    /// <summary>2xx would mean to the visitor that its WebSocket is open, for any meaning of the backend.</summary>
    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage")]
    [InlineData("HTTP/1.1 204 No Content\r\n\r\n")]
    [InlineData(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")]
    [InlineData("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")]
    [InlineData("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\nSec-WebSocket-Accept: {accept}\r\n\r\n")]
    [InlineData(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {accept}\r\n"
            + "Sec-WebSocket-Accept: {accept}\r\n\r\n")]
    public Task An_answer_that_would_pass_for_an_open_WebSocket_and_is_none_is_502(string answer) => Http2Tunnel.RunAsync(
        "HTTP/2 by preface",
        async connection =>
        {
            var head = await connection.ReadHeadAsync();
            await connection.WriteAsync(answer.Replace("{accept}", Http2Tunnel.Accept(head), StringComparison.Ordinal));
            await connection.WaitForEndAsync();
        },
        async (visitor, _) =>
        {
            var stream = await visitor.ConnectAsync("/", "http");
            var (status, fields) = await stream.ReadAnswerAsync();
            Assert.Equal((502, "backend-protocol"), (status, Assert.Single(fields["tunnel2-error"])));
            Assert.DoesNotContain("page", Encoding.UTF8.GetString(await stream.ReadToEndAsync()), StringComparison.Ordinal);
        });

    [Fact]
    public Task What_is_asked_for_amiss_is_refused_by_ProxyEntry_and_leaves_the_connection_as_it_was() => Http2Tunnel.RunAsync(
        "HTTP/2 over TLS",
        async (visitor, _) =>
        {
            (string, string)[] head =
            [
                (":method", "CONNECT"), (":scheme", "https"), (":authority", TunnelFixture.Host), (":path", "/ws-echo"),
            ];
            foreach (var protocol in new[] { "connect-udp", "webtransport", "websocket2", "raw" })
            {
                await AssertErrorAsync(await visitor.OpenAsync([(":protocol", protocol), .. head]), 501, "method-not-supported");
            }

            await AssertErrorAsync(
                await visitor.OpenAsync([(":method", "CONNECT"), (":authority", TunnelFixture.Host)]), 501, "method-not-supported");
            await AssertErrorAsync(
                await visitor.OpenAsync([(":protocol", "websocket"), .. head, ("content-length", "5")]), 400, "bad-request");
            await AssertErrorAsync(
                await visitor.OpenAsync([(":protocol", "websocket"), head[0], head[1], (":authority", "web.elsewhere.example"), head[3]]),
                404,
                "unknown-host");

            // Nothing of that touched the connection: the same words in order open a WebSocket, in any case of the protocol's name.
            var stream = await visitor.OpenAsync([(":protocol", "WebSocket"), .. head, ("sec-websocket-version", "13")]);
            Assert.Equal(200, (await stream.ReadAnswerAsync()).Status);
            await stream.WriteAsync(new byte[] { 0x81, 0x82, 0, 0, 0, 0, (byte)'h', (byte)'i' });
            Assert.Equal([0x81, 0x02, (byte)'h', (byte)'i'], await stream.ReadAsync(4));
            await stream.WriteAsync(new byte[] { 0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8 });
            Assert.Equal([0x88, 0x02, 0x03, 0xE8], await stream.ReadToEndAsync());
            await stream.WriteAsync(default, end: true);
        });

    [Fact]
    public async Task A_WebSocket_of_an_absent_agent_is_503_or_waits_for_it()
    {
        var time = new ManualTimeProvider();
        await Http2Tunnel.RunAsync("HTTP/2 by preface", time, async (visitor, tunnel) =>
        {
            await tunnel.Agent.StopAsync();
            await tunnel.Entry.WaitForSessionsAsync(0);
            var stream = await visitor.ConnectAsync("/ws-echo", "http");
            await tunnel.Entry.WaitForParkedAsync(1);
            await using (var next = await AgentFixture.StartReadyAsync(AgentFixture.Options(tunnel.Entry.Uplink.Port, tunnel.Backend.Port)))
            {
                Assert.Equal(200, (await stream.ReadAnswerAsync()).Status);
                await stream.WriteAsync(new byte[] { 0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8 });
                Assert.Equal([0x88, 0x02, 0x03, 0xE8], await stream.ReadToEndAsync());
                await stream.WriteAsync(default, end: true);
                await next.StopAsync();
            }

            await tunnel.Entry.WaitForSessionsAsync(0);
            var inVain = await visitor.ConnectAsync("/ws-echo", "http");
            await tunnel.Entry.WaitForParkedAsync(1);
            time.Advance(TimeSpan.FromSeconds(9));
            await AssertErrorAsync(inVain, 503, "agent-offline");
        }, "Timeouts:Park=8s");
    }

    private static async Task AssertErrorAsync(Http2VisitorStream stream, int status, string code)
    {
        var (got, fields) = await stream.ReadAnswerAsync();
        Assert.Equal((status, code), (got, Assert.Single(fields["tunnel2-error"])));
        Assert.NotEmpty(await stream.ReadToEndAsync());
    }
}
