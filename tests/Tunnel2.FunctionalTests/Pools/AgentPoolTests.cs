using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Administration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Pools;

/// <summary>Agents, each with a service of its own, behind one name.</summary>
public sealed class AgentPoolTests
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);
    private static readonly string[] _plain = ["Pool:SlowStart=off"];

    [Fact]
    public async Task Each_agent_gets_its_share()
    {
        await using var pool = await PooledAgents.StartAsync(3, _plain);
        var names = new List<string>();
        for (var i = 0; i < 60; i++)
        {
            names.Add(await pool.AskAsync());
        }

        Assert.All(pool.Names, name => Assert.InRange(names.Count(one => one == name), 10, 30));
        Assert.Equal(3, pool.Entry.Directory.Count);
        pool.Entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task An_agent_that_is_lost_costs_its_own_requests_and_no_others()
    {
        await using var pool = await PooledAgents.StartAsync(2, _plain);
        var visitors = new List<RawHttpClient>();
        for (var i = 0; i < 2; i++)
        {
            visitors.Add(await pool.ConnectAsync());
            await visitors[i].SendRequestAsync("/wait", TunnelFixture.Host);
            await WaitSignal.UntilAsync(() => pool.Services.Sum(static one => one.Waiting.Value) == i + 1, "the request has come", _long);
        }

        // One of them is at each agent: the second went to the one with fewer.
        Assert.All(pool.Services, static service => Assert.Equal(1, service.Waiting.Value));
        pool.Links[1].RefuseConnections = true;
        pool.Links[1].CutAll(CutMode.Reset);
        await pool.Entry.WaitForSessionsAsync(1);
        for (var i = 0; i < 10; i++)
        {
            Assert.Equal("a", await pool.AskAsync());
        }

        pool.Services[0].MayAnswer.Set();
        var statuses = new List<int>();
        foreach (var visitor in visitors)
        {
            statuses.Add((await visitor.ReadHeadAsync()).StatusCode);
            await visitor.DisposeAsync();
        }

        Assert.Equal([200, 502], statuses.Order());
        pool.Links[1].RefuseConnections = false;
        await pool.Entry.WaitForSessionsAsync(2);
    }

    [Fact]
    public async Task A_service_that_is_down_is_no_visitors_error()
    {
        // Without a pause, each second request is tried at the agent whose service is down first.
        await using var pool = await PooledAgents.StartAsync(3, [.. _plain, "Pool:Pause=off"]);
        await pool.Services[2].DisposeAsync();
        for (var i = 0; i < 30; i++)
        {
            Assert.Contains(await pool.AskAsync(i % 2 == 0 ? "GET" : "POST"), (string[])["a", "b"]);
        }

        Assert.Contains(
            "tunnel2_entry_requests_moved_total{error_type=\"backend_connect\"}",
            Encoding.UTF8.GetString(pool.Entry.Metrics.Collect()),
            StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_agent_that_stops_under_traffic_costs_no_request()
    {
        await using var pool = await PooledAgents.StartAsync(3, _plain);
        await using var visitors = SteadyVisitors.StartInTurn(pool.Entry.Http, 4, TunnelFixture.Host, "/");
        await visitors.MoreAsync(40);
        Assert.Equal(0, await pool.Agents[0].StopAsync());
        await visitors.MoreAsync(40);
        await pool.Entry.WaitForSessionsAsync(2);
        Assert.Equal(0, await pool.Agents[1].StopAsync());
        await visitors.MoreAsync(40);
        Assert.All(
            await visitors.StopAsync(),
            static result => Assert.True(result.Problem is null or SteadyResult.Crossed, result.Problem));
        pool.Entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task An_agent_that_stops_gets_nothing_new_while_it_finishes_what_it_has()
    {
        await using var pool = await PooledAgents.StartAsync(2, _plain);
        await using var visitor = await pool.ConnectAsync();
        await visitor.SendRequestAsync("/wait", TunnelFixture.Host);
        await WaitSignal.UntilAsync(() => pool.Services.Sum(static one => one.Waiting.Value) == 1, "the request has come", _long);
        var busy = pool.Services[0].Waiting.Value == 1 ? 0 : 1;
        var stopping = pool.Agents[busy].StopAsync();
        await pool.Entry.HandOvers.WaitForAsync(1, _long);
        for (var i = 0; i < 10; i++)
        {
            Assert.Equal(pool.Names[1 - busy], await pool.AskAsync());
        }

        pool.Services[busy].MayAnswer.Set();
        Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
        Assert.Equal(0, await stopping);
    }

    [Fact]
    public async Task An_unhealthy_service_gets_nothing_while_another_one_is_healthy()
    {
        await using var pool = await PooledAgents.StartAsync(2, _plain, static options => options with
        {
            Health = new HealthCheck("/check") { Interval = TimeSpan.FromMilliseconds(50), Failures = 2, Successes = 2 },
        });
        await pool.UntilHealthyAsync(2);
        pool.Services[0].IsWell = false;
        await pool.UntilHealthyAsync(1);
        for (var i = 0; i < 10; i++)
        {
            Assert.Equal("b", await pool.AskAsync());
        }

        // With none that is healthy, all serve: a check may be wrong.
        pool.Services[1].IsWell = false;
        await pool.UntilHealthyAsync(0);
        Assert.Contains(await pool.AskAsync(), (string[])["a", "b"]);
        pool.Services[0].IsWell = true;
        await pool.UntilHealthyAsync(1);
        for (var i = 0; i < 10; i++)
        {
            Assert.Equal("a", await pool.AskAsync());
        }

        Assert.All(pool.Services, static service => Assert.True(service.Checks > 2));
    }

    [Fact]
    public async Task An_agent_whose_service_is_not_up_yet_waits_for_its_first_check()
    {
        await using var pool = await PooledAgents.StartAsync(1, _plain);
        await using var late = new NamedService("late") { IsWell = false };
        var options = PooledAgents.Options(pool.Entry.Uplink.Port, late.Port) with
        {
            Health = new HealthCheck("/check") { Interval = TimeSpan.FromMilliseconds(50), Successes = 1 },
        };
        await using var agent = await AgentFixture.StartReadyAsync(options);
        for (var i = 0; i < 10; i++)
        {
            Assert.Equal("a", await pool.AskAsync());
        }

        late.IsWell = true;
        await pool.UntilHealthyAsync(2);
        var names = new HashSet<string>();
        for (var i = 0; i < 10; i++)
        {
            names.Add(await pool.AskAsync());
        }

        Assert.Contains("late", names);
    }

    [Fact]
    public async Task An_upgraded_connection_stays_where_it_is()
    {
        await using var pool = await PooledAgents.StartAsync(2, _plain);
        await using var visitor = await pool.ConnectAsync();
        await visitor.SendRequestAsync("/", TunnelFixture.Host, fields: "Connection: Upgrade\r\nUpgrade: names\r\n");
        Assert.Equal(101, (await visitor.ReadHeadAsync()).StatusCode);
        string? first = null;
        for (var i = 0; i < 10; i++)
        {
            await visitor.WriteAsync("?");
            var name = ((char)(await visitor.ReadExactlyAsync(1))[0]).ToString();
            first ??= name;
            Assert.Equal(first, name);
            await pool.AskAsync();
        }
    }

    [Fact]
    public async Task An_agent_that_does_not_share_the_name_as_the_others_do_is_refused_and_disturbs_none()
    {
        await using var pool = await PooledAgents.StartAsync(1, _plain);
        var options = PooledAgents.Options(pool.Entry.Uplink.Port, pool.Services[0].Port);
        AgentOptions[] others =
        [
            options with { Pool = false },
            options with { Access = new AccessRules { Denied = [AccessNetwork.Create([10, 0, 0, 0], 8)!] } },
        ];
        foreach (var other in others)
        {
            await using var agent = AgentFixture.Start(other);
            Assert.Equal(AgentExitCode.Rejected, await agent.Completion.WaitAsync(_long));
            Assert.Equal(RejectionReason.PoolNotPossible, Assert.Single(agent.Events.Ends).Rejection?.Reason);
        }

        Assert.Equal(0, pool.Agents[0].Events.EndCount.Value);
        Assert.Equal("a", await pool.AskAsync());
    }

    [Fact]
    public async Task An_administrator_sees_each_agent_and_ends_the_one_that_is_meant()
    {
        await using var pool = await PooledAgents.StartAsync(2, _plain);
        using var api = new AdminApi(pool.Entry);
        var page = await api.GetAsync("/api/v1/sessions?limit=1");
        var sessions = page.GetProperty("sessions").EnumerateArray().ToList();
        Assert.Equal((2, 2), (sessions.Count, page.GetProperty("total").GetInt32()));
        Assert.All(sessions, static one => Assert.Equal(2, one.GetProperty("pool").GetProperty("members").GetInt32()));
        Assert.Equal(409, (await api.SendAsync("DELETE", "/api/v1/sessions/web")).Status);
        Assert.Equal(409, (await api.SendAsync("GET", "/api/v1/sessions/web")).Status);
        Assert.Equal(404, (await api.SendAsync("GET", "/api/v1/sessions/web?session=00000000")).Status);
        var first = sessions[0].GetProperty("sessionId").GetString();
        Assert.Equal(204, (await api.SendAsync("DELETE", $"/api/v1/sessions/web?session={first}")).Status);
        await Task.WhenAny(pool.Agents[0].Events.EndCount.WaitForAsync(1, _long), pool.Agents[1].Events.EndCount.WaitForAsync(1, _long));
        Assert.Equal(1, pool.Agents.Sum(static agent => agent.Events.EndCount.Value));
        Assert.Contains(await pool.AskAsync(), pool.Names);
        await pool.Entry.WaitForSessionsAsync(2);
    }

    [Fact]
    public async Task The_limit_of_a_tier_counts_once_for_the_name()
    {
        await using var pool = await PooledAgents.StartAsync(
            2,
            [
                .. _plain, "Agents:a:TokenHash=" + EntryTokens.HashSetting("secret"), "Agents:a:Tier=small",
                "Tiers:small:RequestsPerSecond=1", "Tiers:small:Burst=3",
            ],
            static options => options with { Token = "secret" });
        var (first, second) = (pool.Entry.Directory.Snapshot()[0], pool.Entry.Directory.Snapshot()[1]);
        Assert.Equal("small", first.RateLimit?.Tier.Name);
        Assert.Same(first.RateLimit, second.RateLimit);
    }
}
