using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Tcp;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Pools;

/// <summary>Agents that share a port, or a name for TLS: each connection goes to one of them.</summary>
public sealed class RawPoolTests
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task A_connection_of_TCP_goes_to_the_agent_with_the_fewest()
    {
        var (port, settings) = Settings("Tcp");
        await using var pool = await PooledAgents.StartAsync(2, settings, options => UseTcp(options, port));
        var visitors = new List<RawHttpClient>();
        for (var i = 0; i < 6; i++)
        {
            visitors.Add(await WaitAtServiceAsync(pool, port, i + 1));
        }

        Assert.All(pool.Services, static service => Assert.Equal(3, service.Waiting.Value));
        await EndAsync(pool, visitors);
    }

    [Fact]
    public async Task A_service_that_takes_no_connection_costs_no_visitor_of_TCP()
    {
        // Without a pause, each second connection is tried at the agent whose service is down first.
        var (port, settings) = Settings("Tcp");
        await using var pool = await PooledAgents.StartAsync(2, [.. settings, "Pool:Pause=off"], options => UseTcp(options, port));
        await pool.Services[0].DisposeAsync();
        for (var i = 0; i < 10; i++)
        {
            Assert.Equal("b", await AskAsync(port));
        }
    }

    [Fact]
    public async Task A_service_of_TCP_that_fails_its_check_is_passed_over()
    {
        var (port, settings) = Settings("Tcp");
        await using var pool = await PooledAgents.StartAsync(2, settings, options => UseTcp(options, port) with
        {
            Health = new HealthCheck(HealthCheck.Connect) { Interval = TimeSpan.FromMilliseconds(50), Failures = 2, Successes = 2 },
        });
        await pool.UntilHealthyAsync(2);
        await pool.Services[1].DisposeAsync();
        await pool.UntilHealthyAsync(1);
        Assert.Equal("a", await AskAsync(port));
    }

    [Fact]
    public async Task An_agent_of_TCP_that_stops_takes_nothing_new_and_lets_its_connection_end()
    {
        var (port, settings) = Settings("Tcp");
        await using var pool = await PooledAgents.StartAsync(2, settings, options => UseTcp(options, port));
        var visitor = await WaitAtServiceAsync(pool, port, 1);
        var busy = pool.Services[0].Waiting.Value == 1 ? 0 : 1;
        var stopping = pool.Agents[busy].StopAsync();
        await pool.Entry.HandOvers.WaitForAsync(1, _long);
        for (var i = 0; i < 4; i++)
        {
            Assert.Equal(pool.Names[1 - busy], await AskAsync(port));
        }

        await EndAsync(pool, [visitor]);
        Assert.Equal(0, await stopping);
    }

    [Fact]
    public async Task Connections_of_TLS_by_name_go_to_both_agents()
    {
        await using var pool = await PooledAgents.StartAsync(
            0, ["Tls:Listen=127.0.0.1:0", "Tcp:Ports=off", "Pool:SlowStart=off"]);
        await using var one = RawTcpServer.Start(static connection => SayAsync(connection, "a"));
        await using var other = RawTcpServer.Start(static connection => SayAsync(connection, "b"));
        foreach (var service in new[] { one, other })
        {
            pool.Agents.Add(await AgentFixture.StartReadyAsync(UseRaw(
                PooledAgents.Options(pool.Entry.Uplink.Port, service.Port), SessionKind.Tls)));
        }

        var endPoint = new IPEndPoint(IPAddress.Loopback, new Uri(pool.Agents[0].Events.PublicUrls[0]).Port);
        var visitors = new List<TcpClient>();
        var names = new List<string>();
        for (var i = 0; i < 4; i++)
        {
            var visitor = new TcpClient();
            visitors.Add(visitor);
            await visitor.ConnectAsync(endPoint);
            await visitor.GetStream().WriteAsync(TlsTunnelTests.Hello("web.localhost"));
            var answer = new byte[1];
            await visitor.GetStream().ReadExactlyAsync(answer);
            names.Add(((char)answer[0]).ToString());
        }

        Assert.Equal(["a", "a", "b", "b"], names.Order());
        visitors.ForEach(static visitor => visitor.Dispose());
    }

    [Fact]
    public async Task Associations_of_UDP_go_to_both_agents_and_stay_there()
    {
        var (port, settings) = Settings("Udp");
        await using var pool = await PooledAgents.StartAsync(0, settings);
        using var one = Bound();
        using var other = Bound();
        foreach (var service in new[] { one, other })
        {
            var options = PooledAgents.Options(pool.Entry.Uplink.Port, ((IPEndPoint)service.LocalEndPoint!).Port);
            pool.Agents.Add(await AgentFixture.StartReadyAsync(UseRaw(options, SessionKind.Udp) with
            {
                RemotePort = port,

                // A silent association would hold up the end of the test.
                DrainLimit = TimeSpan.FromMilliseconds(100),
                Upstream = options.Upstream with { IsRaw = true, IsDatagram = true },
            }));
        }

        using var first = Bound();
        using var second = Bound();
        var endPoint = new IPEndPoint(IPAddress.Loopback, port);
        var atOne = 0;
        foreach (var visitor in new[] { first, second })
        {
            await visitor.SendToAsync("1"u8.ToArray(), endPoint);
            var service = await ArrivedAsync(one, other);
            atOne += service == one ? 1 : 0;
            await visitor.SendToAsync("2"u8.ToArray(), endPoint);
            Assert.Same(service, await ArrivedAsync(one, other));
        }

        Assert.Equal(1, atOne);
    }

    [Fact]
    public async Task A_member_with_another_port_is_refused()
    {
        var (port, settings) = Settings("Tcp");
        await using var pool = await PooledAgents.StartAsync(1, settings, options => UseTcp(options, port));
        await using var other = AgentFixture.Start(
            UseTcp(PooledAgents.Options(pool.Entry.Uplink.Port, pool.Services[0].Port), port + 1));
        Assert.Equal(3, await other.Completion);
        Assert.Equal("a", await AskAsync(port));
    }

    private static (int Port, string[] Settings) Settings(string kind)
    {
        var ports = TcpTunnel.Ports();
        var first = int.Parse(ports.Split('=', '-')[1], System.Globalization.CultureInfo.InvariantCulture);
        return (first, [ports.Replace("Tcp", kind, StringComparison.Ordinal), "Pool:SlowStart=off"]);
    }

    private static AgentOptions UseRaw(AgentOptions options, SessionKind kind) =>
        options with { Kind = kind, Upstream = options.Upstream with { IsRaw = true } };

    private static AgentOptions UseTcp(AgentOptions options, int port) => TcpTunnel.UseTcp(options) with { RemotePort = port };

    private static Task<RawHttpClient> VisitAsync(int port) => RawHttpClient.ConnectAsync(new IPEndPoint(IPAddress.Loopback, port));

    private static async Task<string> AskAsync(int port)
    {
        await using var visitor = await VisitAsync(port);
        var (_, body) = await visitor.ExchangeAsync("/", TunnelFixture.Host, "GET");
        return body.Text();
    }

    private static async Task<RawHttpClient> WaitAtServiceAsync(PooledAgents pool, int port, int count)
    {
        var visitor = await VisitAsync(port);
        await visitor.SendRequestAsync("/wait", TunnelFixture.Host);
        await WaitSignal.UntilAsync(() => pool.Services.Sum(static one => one.Waiting.Value) == count, "the request has come", _long);
        return visitor;
    }

    private static async Task EndAsync(PooledAgents pool, List<RawHttpClient> visitors)
    {
        pool.Services.ForEach(static service => service.MayAnswer.Set());
        foreach (var visitor in visitors)
        {
            Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
            await visitor.DisposeAsync();
        }
    }

    /// <summary>Says a name after the first byte, and stays until the visitor goes.</summary>
    private static async Task SayAsync(RawConnection connection, string name)
    {
        await connection.ReadExactlyAsync(1);
        await connection.WriteAsync(name);
        while (true)
        {
            await connection.ReadExactlyAsync(1);
        }
    }

    private static Socket Bound()
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        return socket;
    }

    /// <summary>The service that has got a datagram, which is taken.</summary>
    private static async Task<Socket> ArrivedAsync(Socket one, Socket other)
    {
        await WaitSignal.UntilAsync(() => one.Available > 0 || other.Available > 0, "a datagram has come", _long);
        var service = one.Available > 0 ? one : other;
        service.Receive(new byte[16]);
        return service;
    }
}
