using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Net.WebSockets;
using System.Text;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Upgrades.Http2;

/// <summary>.NET's own client of RFC 8441.</summary>
public sealed class ClientWebSocketTests
{
    public static TheoryData<string> Kinds => Http2Tunnel.Kinds;

    [Theory]
    [MemberData(nameof(Kinds))]
    public Task Messages_of_any_size_come_back_and_the_close_is_answered_with_its_own_words(string kind) => RunAsync(
        kind,
        async (client, _) =>
        {
            (int, string)[] goodbyes = [(1000, ""), (1001, "going away"), (3000, "registered"), (4999, "our own: Gr\u00fc\u00dfe")];
            foreach (var (code, reason) in goodbyes)
            {
                using var socket = await client.OpenAsync("/ws-echo");
                Assert.Equal("chat", socket.SubProtocol);
                foreach (var length in new[] { 0, 1, 125, 126, 65_535, 65_536, 3_000_000 })
                {
                    await EchoAsync(socket, length);
                }

                await socket.CloseAsync((WebSocketCloseStatus)code, reason, CancellationToken.None);
                Assert.Equal(((WebSocketCloseStatus?)code, reason), (socket.CloseStatus, socket.CloseStatusDescription ?? ""));
            }

            Assert.Equal(1, client.Connections);
        });

    [Fact]
    public Task A_thousand_WebSockets_and_requests_beside_them_share_one_connection() => RunAsync(
        "HTTP/2 over TLS",
        async (client, tunnel) =>
        {
            const int Count = 1000;
            var sockets = new ClientWebSocket[Count];
            await Parallel.ForAsync(0, Count, new ParallelOptions { MaxDegreeOfParallelism = 50 }, async (i, _) =>
            {
                sockets[i] = await client.OpenAsync("/ws-echo");
                await SayAsync(sockets[i], $"first {i}");
            });
            Assert.Equal(Count, tunnel.Entry.Session.Tunnel.OpenStreams);

            var requests = Parallel.ForAsync(0, 200, new ParallelOptions { MaxDegreeOfParallelism = 100 }, async (_, cancellationToken) =>
            {
                var body = await client.Http.GetByteArrayAsync("bytes/10000", cancellationToken);
                Assert.Equal(10_000, body.Length);
                PatternBytes.Verify(body, 0);
            });
            await Parallel.ForAsync(
                0, Count, new ParallelOptions { MaxDegreeOfParallelism = 100 }, async (i, _) => await SayAsync(sockets[i], $"second {i}"));
            await requests;
            await Parallel.ForAsync(0, Count, new ParallelOptions { MaxDegreeOfParallelism = 50 }, async (i, _) =>
            {
                await sockets[i].CloseAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None);
                sockets[i].Dispose();
            });
            Assert.Equal(1, client.Connections);
        });

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task When_the_tunnel_goes_away_the_WebSocket_is_closed_with_1001(bool isAgent) => RunAsync(
        "HTTP/2 over TLS",
        async (client, tunnel) =>
        {
            using var socket = await client.OpenAsync("/ws-echo");
            await EchoAsync(socket, 100_000);
            var stopping = isAgent ? tunnel.Agent.StopAsync() : tunnel.Entry.StopAsync();
            var received = await socket.ReceiveAsync(new byte[100].AsMemory(), CancellationToken.None);
            Assert.Equal(
                (WebSocketMessageType.Close, WebSocketCloseStatus.EndpointUnavailable), (received.MessageType, socket.CloseStatus));
            await socket.CloseOutputAsync(WebSocketCloseStatus.EndpointUnavailable, null, CancellationToken.None);
            await stopping;
        });

    [Fact]
    public Task An_upgrade_is_counted_as_one_over_every_version_of_HTTP() => RunAsync("HTTP/2 over TLS", async (client, tunnel) =>
    {
        using (var socket = await client.OpenAsync("/ws-echo"))
        {
            await EchoAsync(socket, 10);
            await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None);
        }

        await WaitSignal.UntilAsync(
            () =>
                Scrape(tunnel).Any(
                    static line =>
                        line.Contains("outcome=\"upgraded\"", StringComparison.Ordinal)
                            && line.Contains("status_class=\"1xx\"", StringComparison.Ordinal)),
            "the upgrade is counted");
    });

    private static string[] Scrape(TunnelFixture tunnel) => Encoding.UTF8.GetString(tunnel.Entry.Metrics.Collect()).Split('\n');

    private static async Task SayAsync(ClientWebSocket socket, string words)
    {
        var bytes = Encoding.UTF8.GetBytes(words);
        await socket.SendAsync(bytes, WebSocketMessageType.Text, true, CancellationToken.None);
        var buffer = new byte[100];
        var received = await socket.ReceiveAsync(buffer.AsMemory(), CancellationToken.None);
        Assert.Equal((words, true), (Encoding.UTF8.GetString(buffer, 0, received.Count), received.EndOfMessage));
    }

    private static async Task EchoAsync(ClientWebSocket socket, int length)
    {
        var message = new byte[length];
        PatternBytes.Fill(message, 0);
        var sending = socket.SendAsync(message, WebSocketMessageType.Binary, true, CancellationToken.None);
        var buffer = new byte[64 * 1024];
        var total = 0;
        ValueWebSocketReceiveResult received;
        do
        {
            received = await socket.ReceiveAsync(buffer.AsMemory(), CancellationToken.None);
            PatternBytes.Verify(buffer.AsSpan(0, received.Count), total);
            total += received.Count;
        }
        while (!received.EndOfMessage || total < length);
        await sending;
        Assert.Equal((WebSocketMessageType.Binary, length), (received.MessageType, total));
    }

    private static Task RunAsync(string kind, Func<Client, TunnelFixture, Task> test) => FrontVisitor.WithCertificateAsync(
        setup => TunnelFixture.RunAsync(
            async tunnel =>
            {
                using var client = new Client(kind, tunnel);
                await test(client, tunnel);
            },
            setup with { Patience = TimeSpan.FromMinutes(2) }));

    /// <summary>WebSockets and requests over one handler.</summary>
    private sealed class Client : IDisposable
    {
        private readonly HttpMessageInvoker _invoker;
        private readonly Uri _base;
        private int _connections;

        [SuppressMessage("Security", "CA5359", Justification = "The certificate is made at the test's start; no program can know it.")]
        public Client(string kind, TunnelFixture tunnel)
        {
            var isTls = Http2Tunnel.IsTls(kind);
            var endPoint = isTls ? tunnel.Entry.Https : tunnel.Entry.Http;
            var handler = new SocketsHttpHandler
            {
                UseProxy = false,
                UseCookies = false,
                SslOptions = new SslClientAuthenticationOptions { RemoteCertificateValidationCallback = static (_, _, _, _) => true },
                ConnectCallback = async (_, cancellationToken) =>
                {
                    Interlocked.Increment(ref _connections);
                    var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                    await socket.ConnectAsync(endPoint, cancellationToken);
                    return new NetworkStream(socket, ownsSocket: true);
                },
            };
            _invoker = new HttpMessageInvoker(handler);
            _base = new Uri($"{(isTls ? "wss" : "ws")}://{TunnelFixture.Host}:{endPoint.Port}/");
            Http = new HttpClient(handler, disposeHandler: false)
            {
                BaseAddress = new Uri($"{Http2Tunnel.Scheme(kind)}://{TunnelFixture.Host}:{endPoint.Port}/"),
                DefaultRequestVersion = HttpVersion.Version20,
                DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
            };
        }

        public HttpClient Http { get; }

        public int Connections => _connections;

        public async Task<ClientWebSocket> OpenAsync(string path)
        {
            var socket = new ClientWebSocket();
            socket.Options.AddSubProtocol("chat");
            socket.Options.HttpVersion = HttpVersion.Version20;
            socket.Options.HttpVersionPolicy = HttpVersionPolicy.RequestVersionExact;
            await socket.ConnectAsync(new Uri(_base, path), _invoker, CancellationToken.None);
            return socket;
        }

        public void Dispose()
        {
            Http.Dispose();
            _invoker.Dispose();
        }
    }
}
