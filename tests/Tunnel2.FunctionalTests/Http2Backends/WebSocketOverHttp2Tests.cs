using System.Net.WebSockets;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;

namespace Tunnel2.FunctionalTests.Http2Backends;

/// <summary>WebSockets to a service that speaks HTTP/2 (RFC 8441), from visitors of both versions.</summary>
[Trait("Engine", "each")]
public sealed class WebSocketOverHttp2Tests
{
    /// <summary>SETTINGS_ENABLE_CONNECT_PROTOCOL.</summary>
    private static readonly byte[] _allowsConnect = [0, 8, 0, 0, 0, 1];

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task Messages_of_a_visitor_of_http1_are_echoed(bool isTls) => Http2Service.RunAsync(isTls, static async (tunnel, _) =>
    {
        using var socket = new ClientWebSocket();
        socket.Options.SetRequestHeader("Host", TunnelFixture.Host);
        socket.Options.AddSubProtocol("chat");
        await socket.ConnectAsync(new Uri($"ws://127.0.0.1:{tunnel.Entry.Http.Port}/ws-echo"), CancellationToken.None);
        var buffer = new byte[1024];
        for (var i = 0; i < 50; i++)
        {
            var message = $"message {i}";
            await socket.SendAsync(Encoding.UTF8.GetBytes(message), WebSocketMessageType.Text, true, CancellationToken.None);
            var received = await socket.ReceiveAsync(buffer.AsMemory(), CancellationToken.None);
            Assert.Equal(message, Encoding.UTF8.GetString(buffer, 0, received.Count));
        }

        await socket.CloseAsync(WebSocketCloseStatus.EndpointUnavailable, "going home", CancellationToken.None);
        Assert.Equal((WebSocketCloseStatus.EndpointUnavailable, "going home"), (socket.CloseStatus, socket.CloseStatusDescription));
    });

    [Fact]
    public async Task A_visitor_of_http2_gets_a_stream_from_end_to_end()
    {
        Http2ServiceRequest? request = null;
        await Http2Service.RunAsync(
            async (service, _) =>
            {
                request = await service.ReadRequestAsync();
                await service.RespondAsync(request.Id, end: false, (":status", "200"), ("sec-websocket-protocol", "chat"));
                await service.WriteAsync(0, 0, request.Id, "hello"u8.ToArray());
                var question = await service.ReadUntilAsync(static frame => frame.Type == 0);
                Assert.Equal("question"u8.ToArray(), question.Payload);
                await service.WriteAsync(0, 1, request.Id, "answer"u8.ToArray());
            },
            static async (visitor, _) =>
            {
                var stream = await visitor.ConnectAsync("/socket?a=b", "http", ("sec-websocket-protocol", "chat, talk"));
                var (status, fields) = await stream.ReadAnswerAsync();
                Assert.Equal(200, status);
                Assert.Equal(["chat"], fields["sec-websocket-protocol"]);
                Assert.Equal("hello"u8.ToArray(), await stream.ReadAsync(5));
                await stream.WriteAsync("question"u8.ToArray());
                Assert.Equal("answer"u8.ToArray(), await stream.ReadToEndAsync());
                await stream.WriteAsync(default, end: true);
            },
            _allowsConnect);

        Assert.Equal(("CONNECT", "websocket"), (request![":method"], request[":protocol"]));
        Assert.Equal(("http", "/socket?a=b", TunnelFixture.Host), (request[":scheme"], request[":path"], request[":authority"]));
        Assert.Equal("13", request["sec-websocket-version"]);
        Assert.DoesNotContain(request.Fields, static field => field.Name is "upgrade" or "connection" or "sec-websocket-key");
        Assert.False(request.IsWhole);
    }

    [Fact]
    public Task A_refusal_of_the_service_is_the_visitors_answer() => Http2Service.RunAsync(
        static async (service, _) =>
        {
            var request = await service.ReadRequestAsync();
            await service.RespondAsync(request.Id, end: false, (":status", "403"));
            await service.WriteAsync(0, 1, request.Id, "no"u8.ToArray());
        },
        static async tunnel =>
        {
            var (head, body) = await tunnel.ExchangeAsync(
                "/", fields: "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    + "Sec-WebSocket-Version: 13\r\n");
            Assert.Equal((403, "no"), (head.StatusCode, body.Text()));
        },
        _allowsConnect);

    [Theory]
    [InlineData("GET", "")]
    [InlineData("GET", "Sec-WebSocket-Key: \r\n")]
    [InlineData("GET", "Sec-WebSocket-Key: c2hvcnQ=\r\n")]
    [InlineData("GET", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")]
    [InlineData("POST", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")]
    public async Task A_handshake_that_the_service_could_not_refuse_is_an_ordinary_request(string method, string key)
    {
        Http2ServiceRequest? request = null;
        await Http2Service.RunAsync(
            async (service, _) =>
            {
                request = await service.ReadRequestAsync();
                await service.RespondAsync(request.Id, end: true, (":status", request[":method"] == "CONNECT" ? "200" : "400"));
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.WriteAsync(
                    $"{method} / HTTP/1.1\r\nHost: web.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    + $"{key}Sec-WebSocket-Version: 13\r\n\r\n");
                Assert.Equal(400, (await visitor.ReadHeadAsync()).StatusCode);
            },
            _allowsConnect);
        Assert.Equal(method, request![":method"]);
        Assert.DoesNotContain(request.Fields, static field => field.Name is ":protocol" or "upgrade");
    }

    [Fact]
    public Task An_answer_to_a_key_that_the_service_never_saw_does_not_reach_the_visitor() => Http2Service.RunAsync(
        static async (service, _) =>
        {
            for (var i = 0; i < 2; i++)
            {
                var request = await service.ReadRequestAsync();
                await service.RespondAsync(request.Id, end: false, (":status", "200"), ("sec-websocket-accept", "of no key"));
                await service.WriteAsync(0, 1, request.Id, []);
            }
        },
        static async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync(
                "GET / HTTP/1.1\r\nHost: web.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
            var head = await visitor.ReadHeadAsync();
            Assert.Equal(101, head.StatusCode);
            Assert.Equal(["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="], head.All("Sec-WebSocket-Accept"));

            await using var other = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
            var stream = await other.ConnectAsync("/", "http");
            var (status, fields) = await stream.ReadAnswerAsync();
            Assert.Equal(200, status);
            Assert.Empty(fields["sec-websocket-accept"]);
            await stream.WriteAsync(default, end: true);
        },
        _allowsConnect);

    [Fact]
    public async Task A_service_that_has_no_websockets_in_http2_gets_an_ordinary_request()
    {
        Http2ServiceRequest? request = null;
        await Http2Service.RunAsync(
            async (service, _) =>
            {
                request = await service.ReadRequestAsync();
                await service.RespondAsync(request.Id, end: true, (":status", "426"));
            },
            static async tunnel => Assert.Equal(
                426,
                (await tunnel.ExchangeAsync(
                    "/", fields: "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                        + "Sec-WebSocket-Version: 13\r\n")).Head.StatusCode));
        Assert.Equal("GET", request![":method"]);
        Assert.DoesNotContain(request.Fields, static field => field.Name is "upgrade" or "connection");
    }
}
