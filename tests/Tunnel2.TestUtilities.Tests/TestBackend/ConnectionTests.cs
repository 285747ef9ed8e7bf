using System.Net.WebSockets;
using System.Text;
using Tunnel2.TestBackend;

namespace Tunnel2.TestUtilities.Tests.TestBackend;

public sealed class ConnectionTests(BackendFixture backend) : IClassFixture<BackendFixture>
{
    [Theory]
    [InlineData(0, true)]
    [InlineData(1000, true)]
    [InlineData(1_000_000, true)]
    [InlineData(1_000_000, false)]
    public async Task An_abort_comes_after_exactly_its_bytes_and_as_a_reset(int count, bool withLength)
    {
        await using var client = await RawHttpClient.ConnectAsync(backend.Plain.EndPoint);
        var (head, body) = await client.ExchangeAsync(withLength ? $"/abort/{count}?length=2000000" : $"/abort/{count}");
        Assert.Equal(withLength ? "2000000" : null, head["Content-Length"]);
        Assert.Equal((count, ConnectionEnding.Reset), (body.Bytes.Length, body.Ending));
        PatternBytes.Verify(body.Bytes, 0);
    }

    [Fact]
    public async Task An_abort_over_tls_comes_after_its_bytes()
    {
        await using var client = await RawHttpClient.ConnectTlsAsync(backend.Tls.EndPoint);
        var (_, body) = await client.ExchangeAsync("/abort/100000?length=200000");
        Assert.Equal((100_000, ConnectionEnding.Reset), (body.Bytes.Length, body.Ending));
    }

    [Fact]
    public async Task A_raw_upgrade_echoes_both_ways_and_sends_the_rest_after_a_half_close()
    {
        await using var client = await RawHttpClient.ConnectAsync(backend.Plain.EndPoint);
        Assert.Equal(426, (await client.ExchangeAsync("/upgrade/raw")).Head.StatusCode);
        await client.SendRequestAsync("/upgrade/raw", fields: "Connection: Upgrade\r\nUpgrade: echo-raw\r\n");
        var head = await client.ReadHeadAsync();
        Assert.Equal((101, "echo-raw"), (head.StatusCode, head["Upgrade"]));
        await client.WriteAsync("ping");
        Assert.Equal("ping"u8.ToArray(), await client.ReadExactlyAsync(4));
        var sent = new byte[4_000_000];
        PatternBytes.Fill(sent, 0);
        var reading = client.ReadToEndAsync();
        await client.WriteAsync(sent);
        await client.ShutdownSendAsync();
        var received = await reading;
        Assert.Equal((sent.Length, -1), (received.Length, PatternBytes.IndexOfDifference(received, 0)));
        Assert.Equal(ConnectionEnding.Fin, client.Ending);
    }

    [Fact]
    public async Task A_websocket_echoes_text_fragments_and_large_messages_and_answers_the_close_code()
    {
        using var socket = new ClientWebSocket();
        socket.Options.AddSubProtocol("first");
        socket.Options.AddSubProtocol("second");
        await socket.ConnectAsync(new UriBuilder(backend.PlainUri("ws-echo")) { Scheme = "ws" }.Uri, CancellationToken.None);
        Assert.Equal("first", socket.SubProtocol);
        await socket.SendAsync("hel"u8.ToArray(), WebSocketMessageType.Text, endOfMessage: false, CancellationToken.None);
        await socket.SendAsync("lo"u8.ToArray(), WebSocketMessageType.Text, endOfMessage: true, CancellationToken.None);
        var (text, type) = await ReceiveMessageAsync(socket);
        Assert.Equal(("hello", WebSocketMessageType.Text), (Encoding.UTF8.GetString(text), type));
        var sent = new byte[2_000_000];
        PatternBytes.Fill(sent, 0);
        var sending = socket.SendAsync(sent, WebSocketMessageType.Binary, endOfMessage: true, CancellationToken.None);
        var (binary, binaryType) = await ReceiveMessageAsync(socket);
        await sending;
        Assert.Equal(WebSocketMessageType.Binary, binaryType);
        Assert.Equal(sent, binary);
        await socket.CloseAsync((WebSocketCloseStatus)4321, "bye", CancellationToken.None);
        Assert.Equal((4321, "bye"), ((int)socket.CloseStatus!, socket.CloseStatusDescription));
    }

    [Fact]
    public async Task A_websocket_can_be_opened_over_http2()
    {
        using var socket = new ClientWebSocket();
        socket.Options.HttpVersion = System.Net.HttpVersion.Version20;
        socket.Options.HttpVersionPolicy = HttpVersionPolicy.RequestVersionExact;
        await socket.ConnectAsync(new UriBuilder(backend.TlsUri("ws-echo")) { Scheme = "wss" }.Uri, backend.Http, CancellationToken.None);
        await socket.SendAsync("hi"u8.ToArray(), WebSocketMessageType.Text, endOfMessage: true, CancellationToken.None);
        Assert.Equal("hi"u8.ToArray(), (await ReceiveMessageAsync(socket)).Content);
        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None);
        Assert.Equal(WebSocketCloseStatus.NormalClosure, socket.CloseStatus);
    }

    [Fact]
    public async Task Arrivals_ends_and_aborts_are_signalled_by_path()
    {
        await using var server = await TestBackendServer.StartAsync(new TestBackendOptions());
        await using (var client = await RawHttpClient.ConnectAsync(server.EndPoint))
        {
            await client.SendRequestAsync("/delay/600000?x=1");
            await server.WaitForArrivalAsync("/delay/600000");
            Assert.Equal((1, 0, 0), server.CountOf("/delay/600000"));
            client.Reset();
        }

        await server.WaitForAbortAsync("/delay/600000");
        await server.WaitForCompletionAsync("/delay/600000");
        await using var other = await RawHttpClient.ConnectAsync(server.EndPoint);
        await other.ExchangeAsync("/bytes/10");
        await other.ExchangeAsync("/bytes/10");
        await server.WaitForCompletionAsync("/bytes/10", 2);
        Assert.Equal((2, 2, 0), server.CountOf("/bytes/10"));
        await other.ExchangeAsync("/abort/10");
        await server.WaitForCompletionAsync("/abort/10");
        Assert.Equal((1, 1, 0), server.CountOf("/abort/10"));
        Assert.Equal(4, server.RequestsStarted);
        var e = await Assert.ThrowsAsync<TimeoutException>(
            () => server.WaitForArrivalAsync("/echo", timeout: TimeSpan.FromMilliseconds(20)));
        Assert.Contains("requests arrived for /echo", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Http2_with_prior_knowledge_is_served_in_clear()
    {
        await using var server = await TestBackendServer.StartAsync(new TestBackendOptions { UseHttp2PriorKnowledge = true });
        using var request = new HttpRequestMessage(HttpMethod.Get, new Uri(server.BaseAddress, "bytes/100"))
        {
            Version = System.Net.HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        using var response = await backend.Http.SendAsync(request);
        Assert.Equal(100, (await response.Content.ReadAsByteArrayAsync()).Length);
    }

    [Fact]
    public async Task The_program_says_where_it_listens_serves_with_the_event_loop_and_stops_on_request()
    {
        var program = Path.ChangeExtension(typeof(TestBackendServer).Assembly.Location, ".dll");
        await using var process = ProcessRunner.Start("dotnet", ["exec", program, "--listen", "127.0.0.1:0", "--engine", "event-loop"]);
        var line = await process.WaitForLineAsync(
            line => line.StartsWith("Listening on ", StringComparison.Ordinal), TimeSpan.FromSeconds(30));
        var root = new Uri(line["Listening on ".Length..]);
        Assert.Equal(1000, (await backend.Http.GetByteArrayAsync(new Uri(root, "bytes/1000"))).Length);
        process.Terminate();
        Assert.Equal(0, await process.WaitForExitAsync());
        await using var wrong = ProcessRunner.Start("dotnet", ["exec", program, "--nonsense"]);
        Assert.Equal(2, await wrong.WaitForExitAsync(TimeSpan.FromSeconds(30)));
    }

    private static async Task<(byte[] Content, WebSocketMessageType Type)> ReceiveMessageAsync(ClientWebSocket socket)
    {
        using var content = new MemoryStream();
        var buffer = new byte[10_000];
        while (true)
        {
            var received = await socket.ReceiveAsync(buffer, CancellationToken.None);
            content.Write(buffer, 0, received.Count);
            if (received.EndOfMessage)
            {
                return (content.ToArray(), received.MessageType);
            }
        }
    }
}
