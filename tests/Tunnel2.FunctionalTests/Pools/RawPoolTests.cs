using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Administration;
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
    public async Task An_agent_of_TCP_that_is_lost_costs_its_own_connection_and_no_other()
    {
        var (port, settings) = Settings("Tcp");
        await using var pool = await PooledAgents.StartAsync(2, settings, options => UseTcp(options, port));
        List<RawHttpClient> visitors = [await WaitAtServiceAsync(pool, port, 1)];
        var first = pool.Services[0].Waiting.Value == 1 ? 0 : 1;
        visitors.Add(await WaitAtServiceAsync(pool, port, 2));
        Assert.All(pool.Services, static service => Assert.Equal(1, service.Waiting.Value));
        pool.Links[first].RefuseConnections = true;
        pool.Links[first].CutAll(CutMode.Reset);
        await pool.Entry.WaitForSessionsAsync(1);
        await visitors[0].WaitForEndAsync();
        for (var i = 0; i < 4; i++)
        {
            Assert.Equal(pool.Names[1 - first], await AskAsync(port));
        }

        await visitors[0].DisposeAsync();
        await EndAsync(pool, [visitors[1]]);

        // It comes back to the same port, which was open all the time.
        pool.Links[first].RefuseConnections = false;
        await pool.Entry.WaitForSessionsAsync(2);
        Assert.All(pool.Entry.Directory.Snapshot(), session => Assert.Equal(port, session.Lease!.Port));
    }

    [Fact]
    public async Task An_agent_of_TCP_that_is_drained_keeps_its_connection_and_comes_back_beside_it()
    {
        var (port, settings) = Settings("Tcp");
        await using var pool = await PooledAgents.StartAsync(2, settings, options => UseTcp(options, port));
        using var api = new AdminApi(pool.Entry);
        var visitor = await WaitAtServiceAsync(pool, port, 1);
        var busy = pool.Services[0].Waiting.Value == 1 ? 0 : 1;
        var session = pool.Entry.Directory.Snapshot().Single(static one => one.Tunnel.OpenStreams == 1);
        Assert.Equal(202, (await api.SendAsync("PUT", $"sessions/web/drain?session={session.DisplayId}")).Status);
        await pool.Agents[busy].Events.ReadyCount.WaitForAsync(2, _long);
        await pool.Entry.UntilAsync(
            () => pool.Entry.Directory.Snapshot() is [{ IsLeaving: false }, { IsLeaving: false }], "the agent is back", _long);
        Assert.Equal(1, session.Tunnel.OpenStreams);
        var names = new List<string>();
        for (var i = 0; i < 4; i++)
        {
            names.Add(await AskAsync(port));
        }

        Assert.Equal(["a", "b"], names.Distinct().Order());
        await EndAsync(pool, [visitor]);
    }

    [Fact]
    public async Task An_agent_that_does_not_share_the_port_as_the_others_do_is_refused_and_disturbs_none()
    {
        var (port, settings) = Settings("Tcp");
        await using var pool = await PooledAgents.StartAsync(1, settings, options => UseTcp(options, port));
        var http = PooledAgents.Options(pool.Entry.Uplink.Port, pool.Services[0].Port);
        var same = UseTcp(http, port);
        var rules = new AccessRules { Denied = [AccessNetwork.Create([10, 0, 0, 0], 8)!] };
        (AgentOptions Options, RejectionReason Reason)[] others =
        [
            (http, RejectionReason.PoolNotPossible),
            (UseTcp(http, port + 1), RejectionReason.PoolNotPossible),
            (same with { Pool = false }, RejectionReason.PoolNotPossible),
            (same with { Access = rules }, RejectionReason.PoolNotPossible),
            (same with { OwnerKey = new byte[32] }, RejectionReason.PortNotAvailable),
            (same with { OwnerKey = new byte[32], Name = "other" }, RejectionReason.PortNotAvailable),
        ];
        foreach (var (options, reason) in others)
        {
            await using var agent = AgentFixture.Start(options);
            Assert.Equal(AgentExitCode.Rejected, await agent.Completion.WaitAsync(_long));
            Assert.Equal(reason, Assert.Single(agent.Events.Ends).Rejection?.Reason);
        }

        Assert.Equal(0, pool.Agents[0].Events.EndCount.Value);
        Assert.Equal("a", await AskAsync(port));
    }

    /// <summary>A port that no other test uses, and the settings of a server for it.</summary>
    internal static (int Port, string[] Settings) Settings(string kind)
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
}
