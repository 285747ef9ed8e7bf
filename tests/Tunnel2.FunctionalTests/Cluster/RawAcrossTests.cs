using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Tcp;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Tunnels of TLS by name, of TCP and of UDP, whose session is at another node than their visitor.</summary>
public sealed class RawAcrossTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task Tls_by_name_reaches_the_service_unopened_at_every_node()
    {
        using var own = TestCertificate.Create();
        using var certificate = SelfMadeCertificate.Create();
        await using var service = RawTcpServer.Start(async visitor =>
        {
            await using var tls = new SslStream(new NetworkStream(visitor.Socket));
            await tls.AuthenticateAsServerAsync(certificate);
            var bytes = new byte[5];
            await tls.ReadExactlyAsync(bytes);
            await tls.WriteAsync(bytes);
            await tls.ShutdownAsync();
            Assert.Equal(0, await tls.ReadAsync(bytes));
        });
        await using var cluster = await RealCluster.StartAsync(
            server, 2, "Public:HttpsListen=127.0.0.1:0", $"Public:Certificate={own.File}");
        await StartAsync(cluster, service, SessionKind.Tls, 0);
        await WaitSignal.UntilAsync(() => cluster.Nodes[1].Part<IForeignTunnels>().IsTls("web"), "the other node knows it", _long);
        for (var node = 0; node < 2; node++)
        {
            using var visitor = await HandshakeAsync(cluster.Nodes[node].Https, "web.localhost");
            Assert.Equal(certificate.GetCertHashString(), visitor.RemoteCertificate!.GetCertHashString());
            await visitor.WriteAsync("hello"u8.ToArray());
            var answer = new byte[5];
            await visitor.ReadExactlyAsync(answer);
            Assert.Equal("hello"u8.ToArray(), answer);

            // Other names are opened at the node, as ever.
            using var other = await HandshakeAsync(cluster.Nodes[node].Https, "other.localhost");
            Assert.NotEqual(certificate.GetCertHashString(), other.RemoteCertificate!.GetCertHashString());
        }

        Assert.Equal((0, 1), (cluster.PassedBy(0), cluster.PassedBy(1)));
    }

    [Fact]
    public async Task A_port_is_open_at_every_node_and_each_direction_ends_by_itself()
    {
        await using var service = RawTcpServer.Start(static async visitor =>
        {
            PatternBytes.Verify(await visitor.ReadToEndAsync(), 0);
            Assert.Equal(ConnectionEnding.Fin, visitor.Ending);
            await visitor.WriteAsync(PatternBytes.Window(0, 400_000));
            await visitor.CloseAsync();
        });
        await using var cluster = await StartTcpAsync(2, "Timeouts:BodyIdle=100ms");
        var port = await PortAsync(await StartAsync(cluster, service, SessionKind.Tcp, 0));
        for (var node = 1; node <= 2; node++)
        {
            await using var visitor = await VisitAsync(node, port);
            await visitor.WriteAsync(PatternBytes.Window(0, 300_000));
            await visitor.ShutdownSendAsync();
            var answer = await visitor.ReadToEndAsync();
            Assert.Equal((400_000, ConnectionEnding.Fin), (answer.Length, visitor.Ending));
            PatternBytes.Verify(answer, 0);
        }

        Assert.Equal((0, 1), (cluster.PassedBy(0), cluster.PassedBy(1)));
    }

    [Fact]
    public async Task Breaks_cross_nodes_as_breaks_in_both_directions()
    {
        var broken = new WaitSignal("the service's connection broke");
        await using var service = RawTcpServer.Start(async visitor =>
        {
            if (await visitor.ReadLineAsync() == "break")
            {
                await visitor.WriteAsync("last words");
                visitor.Reset();
                return;
            }

            await visitor.WriteAsync("hello");
            Assert.Equal(ConnectionEnding.Reset, await visitor.WaitForEndAsync());
            broken.Set();
        });
        await using var cluster = await StartTcpAsync(2);
        var port = await PortAsync(await StartAsync(cluster, service, SessionKind.Tcp, 0));
        await using (var visitor = await VisitAsync(2, port))
        {
            await visitor.WriteAsync("break\r\n");
            Assert.Equal("last words"u8.ToArray(), await visitor.ReadExactlyAsync(10));
            Assert.Equal(ConnectionEnding.Reset, await visitor.WaitForEndAsync());
        }

        await using var breaking = await VisitAsync(2, port);
        await breaking.WriteAsync("wait\r\n");
        await breaking.ReadExactlyAsync(5);
        breaking.Reset();
        await broken.WaitAsync();
    }

    [Theory]
    [InlineData(0, true)]
    [InlineData(0, false)]
    [InlineData(1, true)]
    [InlineData(1, false)]
    public async Task Half_a_connection_that_is_silent_for_too_long_is_cut_by_either_node(int cutting, bool endsVisitor)
    {
        var cut = new WaitSignal("the connection was cut");
        await using var service = RawTcpServer.Start(async visitor =>
        {
            await visitor.WriteAsync("hello");
            if (endsVisitor)
            {
                Assert.Equal(ConnectionEnding.Fin, await visitor.WaitForEndAsync());
                await cut.WaitAsync();
                return;
            }

            await visitor.ShutdownSendAsync();
            Assert.Equal(ConnectionEnding.Reset, await visitor.WaitForEndAsync());
            cut.Set();
        });
        var ports = TcpTunnel.Ports();
        await using var cluster = await RealCluster.StartAsync(
            server, 2, node => [ports, "Tcp:Listen=127.0.0.{node}", node == cutting ? "Tcp:HalfClosed=1s" : "Tcp:HalfClosed=off"]);
        var port = await PortAsync(await StartAsync(cluster, service, SessionKind.Tcp, 0));
        await using var visitor = await VisitAsync(2, port);
        await visitor.ReadExactlyAsync(5);
        if (endsVisitor)
        {
            await visitor.ShutdownSendAsync();
            Assert.Equal(ConnectionEnding.Reset, await visitor.WaitForEndAsync());
            cut.Set();
        }
        else
        {
            Assert.Equal(ConnectionEnding.Fin, await visitor.WaitForEndAsync());
            await cut.WaitAsync();
        }
    }

    [Fact]
    public async Task The_service_and_the_records_get_the_visitors_own_address()
    {
        await using var service = RawTcpServer.Start(static async visitor =>
        {
            var line = await visitor.ReadLineAsync();
            await visitor.WriteAsync(line);
            await visitor.CloseAsync();
        });
        await using var cluster = await StartTcpAsync(2);
        var port = await PortAsync(await StartAsync(
            cluster, service, SessionKind.Tcp, 0, static options => options with { ProxyProtocol = 1 }));
        await using var visitor = await VisitAsync(2, port);
        await visitor.ShutdownSendAsync();
        var source = (IPEndPoint)visitor.Socket.LocalEndPoint!;
        Assert.Equal(
            $"PROXY TCP4 {source.Address} 127.0.0.2 {source.Port} {port}",
            System.Text.Encoding.ASCII.GetString(await visitor.ReadToEndAsync()));
    }

    [Fact]
    public async Task Who_may_visit_is_decided_at_the_node_of_the_session()
    {
        await using var service = RawTcpServer.Start(static visitor => visitor.WaitForEndAsync());
        await using var cluster = await StartTcpAsync(2);
        var port = await PortAsync(await StartAsync(cluster, service, SessionKind.Tcp, 0, static options => options with
        {
            Access = new AccessRules { Denied = [AccessNetwork.Create([127, 0, 0, 0], 8)!] },
        }));
        await using var visitor = await VisitAsync(2, port);
        Assert.Equal(ConnectionEnding.Reset, await visitor.WaitForEndAsync());
        Assert.Equal(0, service.ConnectionsAccepted.Value);
        Assert.Equal(1, cluster.PassedBy(1));
    }

    [Fact]
    public async Task A_port_follows_its_agent_to_another_node()
    {
        await using var first = RawTcpServer.Start(static visitor => SayAsync(visitor, "first"));
        await using var second = RawTcpServer.Start(static visitor => SayAsync(visitor, "second"));
        await using var cluster = await StartTcpAsync(2, "Timeouts:Park=1m");
        var agent = await StartAsync(cluster, first, SessionKind.Tcp, 0);
        var port = await PortAsync(agent);
        await HearAsync(2, port, "first");
        Assert.Equal(0, await agent.StopAsync());

        var later = await StartAsync(cluster, second, SessionKind.Tcp, 1, options => options with { RemotePort = port });
        Assert.Equal(port, await PortAsync(later));
        await HearAsync(2, port, "second");
        await HearAsync(1, port, "second");
    }

    [Fact]
    public async Task A_pool_at_two_nodes_has_one_port_and_serves_visitors_of_a_third()
    {
        await using var first = RawTcpServer.Start(static visitor => SayAsync(visitor, "first"));
        await using var second = RawTcpServer.Start(static visitor => SayAsync(visitor, "second"));
        await using var cluster = await StartTcpAsync(3);
        var port = await PortAsync(await StartAsync(
            cluster, first, SessionKind.Tcp, 0, static options => options with { Pool = true }));
        await HearAsync(2, port, "first");
        Assert.Equal(port, await PortAsync(await StartAsync(
            cluster, second, SessionKind.Tcp, 1, static options => options with { Pool = true })));
        await HearAsync(3, port, "first");
        await HearAsync(3, port, "second");
        await HearAsync(1, port, "first");
        await HearAsync(2, port, "second");
    }

    [Fact]
    public async Task A_node_does_not_give_away_the_port_of_another_nodes_tunnel()
    {
        await using var service = RawTcpServer.Start(static visitor => SayAsync(visitor, "mine"));
        await using var cluster = await StartTcpAsync(2);
        var port = await PortAsync(await StartAsync(cluster, service, SessionKind.Tcp, 0));
        await HearAsync(2, port, "mine");
        var other = await StartAsync(cluster, service, SessionKind.Tcp, 1, static options => options with { Name = "other" });
        Assert.NotEqual(port, await PortAsync(other));
        await using var wanting = AgentFixture.Start(Use(cluster.Options(1, 1), service.Port, SessionKind.Tcp) with
        {
            Name = "new",
            RemotePort = port,
            ExitOnFailure = true,
        });
        await cluster.Nodes[1].UntilAsync(
            () => cluster.Nodes[1].Log.All.Any(static line => line.Text.Contains("at another node", StringComparison.Ordinal)),
            "it was refused", _long);
        await HearAsync(2, port, "mine");
    }

    [Fact]
    public async Task A_port_that_another_node_is_just_giving_is_not_given_and_the_next_one_is()
    {
        await using var cluster = await StartTcpAsync(2);
        var port = cluster.Nodes[1].Part<ProxyEntrySettings>().Tcp.Ports!.Value.First;

        // Node e1 has got the port for a name whose registration no node has heard of yet.
        Assert.True(await cluster.Nodes[0].Part<ITunnelStore>().TakePortAsync(
            "e1", new ForeignTunnel("theirs", SessionKind.Tcp, port), TimeSpan.FromMinutes(5), CancellationToken.None));
        await using var uplink = await RawUplink.ConnectAsync(cluster.Nodes[1].Uplink);
        var hello = RawUplink.Hello("takes") with
        {
            Capabilities = HandshakeCapabilities.SessionKinds,
            Kind = SessionKind.Tcp,
            WantedPort = port,
        };
        await uplink.SendAsync(hello.ToFrame());
        var reject = (await uplink.ReadAsync())!.Reject;
        Assert.Equal(RejectCode.PortNotAvailable, reject.Code);
        Assert.Contains("at another node", reject.Text, StringComparison.Ordinal);
        await using var other = await RawUplink.ConnectAsync(cluster.Nodes[1].Uplink);
        await other.SendAsync((hello with { TakesAnotherPort = true }).ToFrame());
        Assert.NotEqual(port, (await other.ReadAsync())!.Welcome.Port);
    }

    [Fact]
    public async Task While_the_database_is_away_an_agent_gets_its_port_again_and_a_new_one_is_refused_with_the_reason()
    {
        await using var service = RawTcpServer.Start(static visitor => SayAsync(visitor, "mine"));
        await using var cluster = await StartTcpAsync(2, "Timeouts:Park=1m");
        var agent = await StartAsync(cluster, service, SessionKind.Tcp, 0);
        var port = await PortAsync(agent);
        await HearAsync(2, port, "mine");
        AgentFixture wanting;
        var range = cluster.Nodes[0].Part<ProxyEntrySettings>().Tcp.Ports!.Value;
        var wanted = range.First == port ? port + 1 : range.First;
        await server.StopAsync();
        try
        {
            Assert.Equal(0, await agent.StopAsync());
            var again = await StartAsync(cluster, service, SessionKind.Tcp, 0);
            Assert.Equal(port, await PortAsync(again));
            await HearAsync(1, port, "mine");
            Assert.Equal(0, await again.StopAsync());

            // Another node may just be giving that one.
            wanting = AgentFixture.Start(Use(cluster.Options(0, 0), service.Port, SessionKind.Tcp) with { RemotePort = wanted });
            cluster.Agents.Add(wanting);
            await cluster.Nodes[0].UntilAsync(
                () => cluster.Nodes[0].Log.All.Any(line => line.Text.Contains("database", StringComparison.Ordinal)
                    && line.Text.Contains($"The port {wanted} cannot be given now", StringComparison.Ordinal)),
                "it was refused", _long);
            Assert.Equal(0, wanting.Events.ReadyCount.Value);
        }
        finally
        {
            await server.StartAsync();
        }

        await wanting.Events.ReadyCount.WaitForAsync(1, _long);
        Assert.Equal(wanted, await PortAsync(wanting));
        await HearAsync(2, wanted, "mine");
    }

    [Fact]
    public async Task Datagrams_reach_a_service_at_another_node()
    {
        using var service = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        service.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        await using var cluster = await RealCluster.StartAsync(
            server, 2, TcpTunnel.Ports().Replace("Tcp:", "Udp:", StringComparison.Ordinal), "Udp:Listen=127.0.0.{node}",
            "Udp:Idle=5s");
        var agent = await cluster.StartAgentAsync(Use(
            cluster.Options(0, 0), ((IPEndPoint)service.LocalEndPoint!).Port, SessionKind.Udp));
        var port = await PortAsync(agent);
        await WaitSignal.UntilAsync(() => cluster.Nodes[1].Part<IForeignTunnels>().Ports.Count == 1, "the other node knows it", _long);
        using var visitor = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        await visitor.ConnectAsync(new IPEndPoint(IPAddress.Parse("127.0.0.2"), port));
        do
        {
            // The first may come before the node listens: datagrams may be lost.
            try
            {
                await visitor.SendAsync("?"u8.ToArray());
            }
            catch (SocketException)
            {
                // That is what the one before has met.
            }
        }
        while (!service.Poll(TimeSpan.FromMilliseconds(500), SelectMode.SelectRead));
        var question = new byte[10];
        var received = await service.ReceiveFromAsync(question, new IPEndPoint(IPAddress.Any, 0));
        Assert.Equal("?"u8.ToArray(), question[..received.ReceivedBytes]);
        await service.SendToAsync("answer"u8.ToArray(), received.RemoteEndPoint);
        var answer = new byte[10];
        Assert.Equal("answer"u8.ToArray(), answer[..await visitor.ReceiveAsync(answer).WaitAsync(_long)]);
    }

    private static Task<AgentFixture> StartAsync(
        RealCluster cluster, RawTcpServer service, SessionKind kind, int node, Func<AgentOptions, AgentOptions>? change = null)
    {
        var options = Use(cluster.Options(0, node), service.Port, kind);
        return cluster.StartAgentAsync(change is null ? options : change(options));
    }

    private static AgentOptions Use(AgentOptions options, int port, SessionKind kind) => options with
    {
        Kind = kind,
        Upstream = options.Upstream with { Port = port, IsRaw = true, IsDatagram = kind == SessionKind.Udp },
    };

    /// <summary>Nodes whose ports are at an address of each: here all are on one machine.</summary>
    private Task<RealCluster> StartTcpAsync(int nodes, params string[] settings) =>
        RealCluster.StartAsync(server, nodes, [TcpTunnel.Ports(), "Tcp:Listen=127.0.0.{node}", .. settings]);

    private static Task<int> PortAsync(AgentFixture agent) =>
        Task.FromResult(new Uri(Assert.Single(agent.Events.PublicUrls)).Port);

    /// <summary>Connects to a port, which another node opens a moment after its registration.</summary>
    private static async Task<RawHttpClient> VisitAsync(int node, int port)
    {
        var at = TimeProvider.System.GetTimestamp();
        while (true)
        {
            try
            {
                return await RawHttpClient.ConnectAsync(new IPEndPoint(IPAddress.Parse($"127.0.0.{node}"), port));
            }
            catch (SocketException) when (TimeProvider.System.GetElapsedTime(at) < _long)
            {
                // Not yet.
            }
        }
    }

    /// <summary>Visits until a service answers: a connection that met the move may be cut.</summary>
    private static async Task HearAsync(int node, int port, string expected)
    {
        var at = TimeProvider.System.GetTimestamp();
        while (true)
        {
            await using var visitor = await VisitAsync(node, port);
            if (System.Text.Encoding.ASCII.GetString(await visitor.ReadToEndAsync()) == expected)
            {
                return;
            }

            Assert.True(TimeProvider.System.GetElapsedTime(at) < _long, $"Node {node} leads to {expected}.");
        }
    }

    private static async Task SayAsync(RawConnection visitor, string text)
    {
        await visitor.WriteAsync(text);
        await visitor.CloseAsync();
    }

    private static async Task<SslStream> HandshakeAsync(IPEndPoint endPoint, string name)
    {
        var client = new TcpClient();
        await client.ConnectAsync(endPoint);
        var tls = new SslStream(client.GetStream());
        await tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions
        {
            TargetHost = name,

            // Which one it is, the test compares itself.
            RemoteCertificateValidationCallback = static (_, certificate, _, _) => certificate is not null,
        });
        return tls;
    }
}
