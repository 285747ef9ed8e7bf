using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Tests.Session;

/// <summary>How an uplink's connection comes about, and why not.</summary>
public sealed class UplinkDialerTests
{
    private static readonly AgentOptions _webSocket = SessionFixture.Options with
    {
        Server = new ServerEndpoint("tunnel.example.com", 12001),
        Uplink = UplinkWay.WebSocket,
        Tls = new TlsOptions(),
    };

    private readonly ManualTimeProvider _time = new();

    [Theory]
    [InlineData("127.0.0.1", false, true, false)]
    [InlineData("::1", false, true, true)]
    [InlineData("192.0.2.1", false, false, false)]
    [InlineData("192.0.2.1", false, false, true)]
    [InlineData("192.0.2.1", true, true, true)]
    public Task A_token_and_a_secret_leave_the_machine_encrypted_or_with_leave_only(
        string peer, bool allowed, bool isDialled, bool isWebhook) => SessionFixture.RunAsync(
        async fixture =>
        {
            fixture.Server.Address = IPAddress.Parse(peer);
            var (transport, end) = await fixture.Dialer.DialAsync(joins: false, fixture.Stop.Token);
            var own = await fixture.Server.AcceptAsync();
            Assert.Equal(isDialled, transport is not null);
            if (isDialled)
            {
                Assert.Null(end);
                await transport!.DisposeAsync();
                return;
            }

            Assert.Equal((ConnectionEndReason.RejectedPermanently, "token-in-plaintext"), (end!.Reason, end.Rejection!.Code));
            Assert.DoesNotContain("s3cret", end.Message, StringComparison.Ordinal);
            Assert.False(own.Incoming.IsOpen);
            Assert.Equal(0, own.Incoming.Available);
        },
        SessionFixture.Options with
        {
            Token = isWebhook ? null : "s3cret",
            Access = isWebhook ? new() { Webhook = new(WebhookProvider.GitHub, ["s3cret-s3cret"u8.ToArray()]) } : null,
            AllowPlaintextToken = allowed,
        });

    [Fact]
    public Task Without_a_token_any_server_may_be_dialled() => SessionFixture.RunAsync(async fixture =>
    {
        fixture.Server.Address = IPAddress.Parse("192.0.2.1");
        var (transport, _) = await fixture.Dialer.DialAsync(joins: true, fixture.Stop.Token);
        Assert.NotNull(transport);
        await fixture.Server.AcceptAsync();
        await transport.DisposeAsync();
    });

    [Fact]
    public async Task A_connect_that_takes_too_long_is_given_up()
    {
        var given = new TaskCompletionSource<(IUplinkTransport, IPAddress?)>(TaskCreationOptions.RunContinuationsAsynchronously);
        var dialling = Dialer(SessionFixture.Options, giveUp =>
        {
            giveUp.Register(() => given.TrySetCanceled(giveUp));
            return given.Task;
        }).DialAsync(joins: false, CancellationToken.None);
        _time.Advance(TimeSpan.FromSeconds(10) - TimeSpan.FromTicks(1));
        Assert.False(dialling.IsCompleted);
        _time.Advance(TimeSpan.FromTicks(1));
        var (transport, end) = await dialling;
        Assert.Null(transport);
        Assert.Equal((ConnectionEndReason.ServerUnreachable, ConnectFailureReason.TimedOut), (end!.Reason, end.Failure!.Reason));
    }

    [Fact]
    public async Task Who_stops_sees_no_failure()
    {
        using var stop = new CancellationTokenSource();
        var dialling = Dialer(SessionFixture.Options, async giveUp =>
        {
            await stop.CancelAsync();
            giveUp.ThrowIfCancellationRequested();
            throw new SocketException((int)SocketError.ConnectionRefused);
        }).DialAsync(joins: false, stop.Token);
        var (transport, end) = await dialling;
        Assert.Null(transport);
        Assert.Equal(ConnectionEndReason.Stopped, end!.Reason);
        Assert.Equal(0, _time.ArmedTimers.Value);
    }

    [Fact]
    public async Task A_server_that_does_not_speak_TLS_gets_nothing_but_a_greeting()
    {
        await TestEngine.RunAsync(EngineKind.Pool, async engine =>
        {
            var server = new MemoryServer(engine);
            var dialling = Dialer(
                SessionFixture.Options with { Token = "s3cret", Tls = new TlsOptions() },
                server.ConnectAsync).DialAsync(joins: false, CancellationToken.None);
            var own = await server.AcceptAsync();
            var hello = new byte[16 * 1024];
            var count = await own.ReceiveAsync(hello);
            Assert.DoesNotContain("s3cret", System.Text.Encoding.Latin1.GetString(hello, 0, count), StringComparison.Ordinal);
            await own.SendAsync("SSH-2.0-OpenSSH_9.6\r\n"u8.ToArray());
            var (transport, end) = await dialling;
            Assert.Null(transport);
            Assert.Equal((ConnectionEndReason.ServerUnreachable, UplinkWay.Direct), (end!.Reason, end.Failure!.WithoutTls));
            Assert.False(own.Incoming.IsOpen);
        });
    }

    [Theory]
    [InlineData(SocketError.ConnectionRefused, ConnectFailureReason.Refused, "connection refused.")]
    [InlineData(SocketError.TimedOut, ConnectFailureReason.TimedOut, "no answer in time.")]
    [InlineData(SocketError.HostNotFound, ConnectFailureReason.NameNotResolved, "the host name 'tunnel.example.com' has no address (DNS)")]
    [InlineData(SocketError.NetworkUnreachable, ConnectFailureReason.NoRoute, "no route to that host.")]
    [InlineData(SocketError.ConnectionReset, ConnectFailureReason.ClosedEarly, "the connection was closed before an answer came.")]
    public async Task A_public_port_that_is_not_reached_is_named_and_no_word_is_about_the_uplink_port(
        SocketError error, ConnectFailureReason reason, string words)
    {
        var (_, end) = await Dialer(_webSocket, _ => throw new SocketException((int)error)).DialAsync(
            UplinkWay.WebSocket, joins: false, hasOtherWay: false, CancellationToken.None);
        Assert.Equal(reason, end!.Failure!.Reason);
        Assert.StartsWith(
            "Cannot open an uplink over WebSocket at tunnel.example.com:443: " + words, end.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("12001", end.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("uplink port", end.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(ProxyKind.Http, null, "cannot be reached (its name has no address).")]
    [InlineData(ProxyKind.Http, "HTTP/1.1 403 Forbidden\r\n\r\n", "answered 403 Forbidden and does not connect to that port.")]
    [InlineData(ProxyKind.Https, "HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak TLS at this port: is it a proxy of http://?")]
    [InlineData(ProxyKind.Socks5, "HTTP/1.1 400 Bad Request\r\n\r\n", "answers in HTTP, not in SOCKS 5: write it http://.")]
    public Task A_proxy_before_the_public_port_fails_with_words_about_that_way(ProxyKind kind, string? answer, string words) =>
        TestEngine.RunAsync(EngineKind.Pool, async engine =>
        {
            var server = new MemoryServer(engine);
            var options = _webSocket with { Proxy = new ProxyAddress(kind, "proxy.example.com", 3128) };
            var dialling = Dialer(
                options, answer is null ? _ => throw new SocketException((int)SocketError.HostNotFound) : server.ConnectAsync).DialAsync(
                UplinkWay.WebSocket, joins: false, hasOtherWay: false, CancellationToken.None);
            if (answer is not null)
            {
                var own = await server.AcceptAsync();
                await own.ReceiveAsync(new byte[16 * 1024]);
                await own.SendAsync(System.Text.Encoding.Latin1.GetBytes(answer));
            }

            var (_, end) = await dialling;
            Assert.Equal(
                $"Cannot open an uplink over WebSocket at tunnel.example.com:443: the proxy {options.Proxy} {words}", end!.Message);
        });

    [Theory]
    [InlineData("SSH-2.0-OpenSSH_9.6\r\n", "TLS failed (what answers at this port does not speak TLS; is it the server's HTTPS port?).")]
    [InlineData("\0\0\u0006\u0003\0\0\0\0", "TLS failed (this is the server's uplink port, and not its public port).")]
    public Task A_public_port_without_TLS_is_named(string answer, string words) => TestEngine.RunAsync(EngineKind.Pool, async engine =>
    {
        var server = new MemoryServer(engine);
        var dialling = Dialer(_webSocket, server.ConnectAsync).DialAsync(
            UplinkWay.WebSocket, joins: false, hasOtherWay: false, CancellationToken.None);
        var own = await server.AcceptAsync();
        await own.ReceiveAsync(new byte[16 * 1024]);
        await own.SendAsync(System.Text.Encoding.Latin1.GetBytes(answer));
        var (_, end) = await dialling;
        Assert.Equal("Cannot open an uplink over WebSocket at tunnel.example.com:443: " + words, end!.Message);
        Assert.Equal(UplinkWay.WebSocket, end.Failure!.WithoutTls);
    });

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_real_server_is_reached_or_refuses_on_either_engine(bool listens)
    {
        using var port = new RefusedPort();
        if (listens)
        {
            port.Listen();
        }

        var options = SessionFixture.Options with { Server = new ServerEndpoint("127.0.0.1", port.Port) };
        using var portable = new PortableEngine();
        await CheckAsync(portable);
        if (EngineSetup.HasEpoll)
        {
            using var epoll = new EpollEngine(1);
            await CheckAsync(epoll);
            Assert.Equal(0, epoll.Loops[0].HandleCount);
        }

        async Task CheckAsync(IEngine engine)
        {
            var dialer = new UplinkDialer(options, engine, new UplinkLoops(engine), new IdleConnections(), TimeProvider.System);
            var (transport, end) = await dialer.DialAsync(joins: false, CancellationToken.None);
            Assert.Equal(listens, transport is not null);
            Assert.Equal(listens ? null : ConnectFailureReason.Refused, end?.Failure!.Reason);
            if (transport is not null)
            {
                await transport.DisposeAsync();
            }
        }
    }

    private UplinkDialer Dialer(AgentOptions options, Func<CancellationToken, Task<(IUplinkTransport Transport, IPAddress? Peer)>> connect)
    {
        var engine = new PortableEngine();
        return new UplinkDialer(options, engine, new UplinkLoops(engine), new IdleConnections(), _time) { Connect = connect };
    }
}
