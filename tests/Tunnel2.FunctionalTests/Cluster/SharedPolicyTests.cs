using System.Text.Json;
using Tunnel2.FunctionalTests.Administration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Tcp;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Policies of the API at two nodes, over a real database.</summary>
public sealed class SharedPolicyTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    private const string Deny = """[{"path":"/a","deny":true}]""";
    private const string Other = """[{"path":"/b","deny":true}]""";

    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task A_policy_that_one_node_sets_holds_at_both_is_changed_and_removed_at_the_other()
    {
        await using var cluster = await StartAsync();
        using var first = new AdminApi(cluster.Nodes[0]);
        using var second = new AdminApi(cluster.Nodes[1]);
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 0));
        await PutAsync(first, Deny);
        await HoldsAsync(cluster, 1, Deny);

        // The session is at the first node, and the policy of the second is of its name.
        Assert.Equal((403, 200), (await StatusAsync(cluster, 0, "/a"), await StatusAsync(cluster, 0, "/")));
        Assert.Equal((403, 200), (await StatusAsync(cluster, 1, "/a"), await StatusAsync(cluster, 1, "/")));

        await PutAsync(second, Other);
        await HoldsAsync(cluster, 0, Other);
        await AnswersAsync(cluster, 0, "/a", 200);
        Assert.Equal(403, await StatusAsync(cluster, 0, "/b"));
        Assert.Equal(Changed(await first.GetAsync("policies/names/web")), Changed(await second.GetAsync("policies/names/web")));
        Assert.Equal((1, 0), (agent.Events.ReadyCount.Value, agent.Events.EndCount.Value));

        Assert.Equal(204, (await second.SendAsync("DELETE", "policies/names/web")).Status);
        await HoldsAsync(cluster, 0, null);
        await AnswersAsync(cluster, 0, "/b", 200);
        Assert.Empty(Directory.GetFiles(Path.Combine(cluster.StateOf(0), "policies", "names")));
        await first.RefusedAsync(404, "no-policy", "DELETE", "policies/names/web");
    }

    [Theory]
    [InlineData("policies/agents/ci")]
    [InlineData("policies/tokens/one")]
    public async Task A_policy_of_an_agent_or_a_token_that_one_node_sets_holds_for_a_session_of_the_other(string policy)
    {
        await using var cluster = await StartAsync();
        using var first = new AdminApi(cluster.Nodes[0]);
        using var second = new AdminApi(cluster.Nodes[1]);
        var token = await first.CreateTokenAsync("""{"name":"one","agent":"ci","names":["web"]}""");
        await WaitSignal.UntilAsync(
            () => cluster.Nodes[1].Part<IssuedTokens>().All.Count == 1, "the other node knows the token", _long);
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 1) with { Token = token });
        Assert.Equal(200, await StatusAsync(cluster, 1, "/a"));
        Assert.Equal(200, (await first.SendAsync("PUT", policy, Deny)).Status);
        await AnswersAsync(cluster, 1, "/a", 403);
        Assert.Equal((403, 200), (await StatusAsync(cluster, 0, "/a"), await StatusAsync(cluster, 0, "/")));
        Assert.Equal(204, (await second.SendAsync("DELETE", policy)).Status);
        await AnswersAsync(cluster, 1, "/a", 200);
        Assert.Equal((1, 0), (agent.Events.ReadyCount.Value, agent.Events.EndCount.Value));
    }

    [Theory]
    [InlineData("policies/names/web", false)]
    [InlineData("policies/agents/ci", true)]
    [InlineData("policies/tokens/one", true)]
    public async Task A_policy_for_a_tunnel_of_tcp_at_another_node_is_refused_and_the_tunnel_continues(string policy, bool hasToken)
    {
        await using var cluster = await RealCluster.StartAsync(server, 2, TcpTunnel.Ports(), "Tcp:Listen=127.0.0.{node}");
        using var first = new AdminApi(cluster.Nodes[0]);
        using var second = new AdminApi(cluster.Nodes[1]);
        var options = TcpTunnel.UseTcp(cluster.Options(0, 0));
        if (hasToken)
        {
            options = options with { Token = await first.CreateTokenAsync("""{"name":"one","agent":"ci","names":["web"]}""") };
            await first.CreateTokenAsync("""{"name":"two","agent":"ci","names":["web"]}""");
            await WaitSignal.UntilAsync(
                () => cluster.Nodes[1].Part<IssuedTokens>().All.Count == 2, "the other node knows the tokens", _long);
        }

        var agent = await cluster.StartAgentAsync(options);
        await second.RefusedAsync(409, "not-http", "PUT", policy, Deny);
        await second.RefusedAsync(404, "no-policy", "GET", policy);
        if (hasToken)
        {
            // The policy of another token of that agent would not be the tunnel's.
            Assert.Equal(200, (await second.SendAsync("PUT", "policies/tokens/two", Deny)).Status);
        }

        Assert.Equal((1, 0), (agent.Events.ReadyCount.Value, agent.Events.EndCount.Value));
        Assert.Equal(1, cluster.Nodes[0].Directory.Count);
    }

    [Fact]
    public async Task Without_the_database_policies_hold_on_and_changes_are_refused()
    {
        await using var cluster = await StartAsync();
        using var first = new AdminApi(cluster.Nodes[0]);
        using var second = new AdminApi(cluster.Nodes[1]);
        await cluster.StartAgentAsync(cluster.Options(1, 1));
        await PutAsync(first, Deny);
        await HoldsAsync(cluster, 1, Deny);
        await server.StopAsync();
        try
        {
            // Both have to notice it, each at its next look: otherwise one has nothing to say when the database is back.
            await cluster.Nodes[0].Log.WaitForAsync(2720);
            await cluster.Nodes[1].Log.WaitForAsync(2720);
            await second.RefusedAsync(503, "cluster-database", "PUT", "policies/names/web", Other);
            await second.RefusedAsync(503, "cluster-database", "DELETE", "policies/names/web");
            Assert.Equal(403, await StatusAsync(cluster, 1, "/a"));
        }
        finally
        {
            await server.StartAsync();
        }

        await cluster.Nodes[0].Log.WaitForAsync(2721);
        await cluster.Nodes[1].Log.WaitForAsync(2721);
        await PutAsync(second, Other);
        await HoldsAsync(cluster, 0, Other);
    }

    [Fact]
    public async Task A_database_that_was_emptied_is_filled_again()
    {
        await using var cluster = await StartAsync();
        using var first = new AdminApi(cluster.Nodes[0]);
        await cluster.StartAgentAsync(cluster.Options(0, 0));
        await PutAsync(first, Deny);
        await HoldsAsync(cluster, 1, Deny);
        await PostgresServer.ExecuteAsync(cluster.Database, "truncate tunnel2_shared", Ending);
        await await Task.WhenAny(cluster.Nodes.Select(one => one.UntilAsync(
            () => cluster.Nodes.Any(static node => node.Log.All.Any(static line => line.EventId == 2238
                && line.Text.Contains("has 1 policies now; this node has offered 1", StringComparison.Ordinal))),
            "it is filled", _long)));
        Assert.Equal(1L, await PostgresServer.AskAsync(
            cluster.Database, "select count(*) from tunnel2_shared where kind = 'policies' and key = 'name web'", Ending));
        Assert.Equal(403, await StatusAsync(cluster, 0, "/a"));
    }

    [Fact]
    public async Task A_row_that_is_garbage_closes_what_it_is_for_and_harms_no_other()
    {
        await using var cluster = await StartAsync();
        using var first = new AdminApi(cluster.Nodes[0]);
        using var second = new AdminApi(cluster.Nodes[1]);
        await cluster.StartAgentAsync(cluster.Options(0, 0));
        await PostgresServer.ExecuteAsync(
            cluster.Database,
            "insert into tunnel2_shared values ('policies', 'name web', 1, '\\xff00', clock_timestamp()), "
                + "('policies', E'name ../../x', 2, '[]', clock_timestamp()), ('policies', 'name other', 3, '[]', clock_timestamp())",
            Ending);

        // The line that refuses it is written before what it closes is closed.
        await cluster.Nodes[0].Log.WaitForAsync(2235);
        await AnswersAsync(cluster, 0, "/", 403);
        Assert.Equal(2, (await first.GetAsync("policies")).GetProperty("policies").GetArrayLength());
        Assert.Equal(
            ["other.json", "web.json"],
            Directory.GetFiles(cluster.StateOf(0), "*.json", SearchOption.AllDirectories).Select(Path.GetFileName).Order());
        await PutAsync(second, Deny);
        await HoldsAsync(cluster, 0, Deny);
        await AnswersAsync(cluster, 0, "/", 200);
    }

    [Fact]
    public async Task A_node_that_joins_adds_its_own_policies_once_and_those_of_the_cluster_win()
    {
        var states = Directory.CreateTempSubdirectory("tunnel2-joins-");
        try
        {
            await using var cluster = await StartAsync();
            using var first = new AdminApi(cluster.Nodes[0]);
            await cluster.StartAgentAsync(cluster.Options(0, 0));
            await PutAsync(first, Deny);
            var names = Path.Combine(states.FullName, "policies", "names");
            Directory.CreateDirectory(names);
            await File.WriteAllTextAsync(Path.Combine(names, "web.json"), Other, Ending);
            await File.WriteAllTextAsync(Path.Combine(names, "own.json"), Other, Ending);
            await using var joins = await EntryFixture.StartNodeAsync(
                null, null, ["EntryId=e9", $"Cluster:Database={cluster.Database}", $"StateFolder={states.FullName}"]);
            using var third = new AdminApi(joins);
            Assert.Equal(Deny, Rows(await third.GetAsync("policies/names/web")));
            await HoldsAsync(cluster, 0, Other, "own");
            Assert.Equal(Deny, await File.ReadAllTextAsync(Path.Combine(names, "web.json"), Ending));
        }
        finally
        {
            states.Delete(recursive: true);
        }
    }

    private static async Task PutAsync(AdminApi api, string rows) =>
        Assert.Equal(200, (await api.SendAsync("PUT", "policies/names/web", rows)).Status);

    /// <summary>A line follows each change, when it is in force.</summary>
    private static async Task HoldsAsync(RealCluster cluster, int node, string? rows, string name = "web")
    {
        using var api = new AdminApi(cluster.Nodes[node]);
        while (true)
        {
            var lines = Lines(cluster.Nodes[node]);
            var (status, json, _) = await api.SendAsync("GET", $"policies/names/{name}");
            if (rows is null ? status == 404 : status == 200 && Rows(json!.Value) == rows)
            {
                return;
            }

            await cluster.Nodes[node].UntilAsync(() => Lines(cluster.Nodes[node]) > lines, $"a change at node {node}", _long);
        }
    }

    /// <summary>The policy that the node has already is in force for its sessions a moment later, before the line.</summary>
    private static async Task AnswersAsync(RealCluster cluster, int node, string path, int status)
    {
        for (var lines = Lines(cluster.Nodes[node]);
            await StatusAsync(cluster, node, path) != status;
            lines = Lines(cluster.Nodes[node]))
        {
            await cluster.Nodes[node].UntilAsync(() => Lines(cluster.Nodes[node]) > lines, $"a change at node {node}", _long);
        }
    }

    private static int Lines(EntryFixture entry) => entry.Log.All.Count(static line => line.EventId == 2236);

    private static string? Rows(JsonElement document) =>
        document.TryGetProperty("policy", out var policy) ? policy.GetRawText() : null;

    private static string? Changed(JsonElement document) => document.GetProperty("info").GetProperty("changed").GetString();

    private static async Task<int> StatusAsync(RealCluster cluster, int node, string path)
    {
        await using var visitor = await RawHttpClient.ConnectAsync(cluster.Nodes[node].Http);
        return (await visitor.ExchangeAsync(path, ClusterFixture.Host)).Head.StatusCode;
    }

    private Task<RealCluster> StartAsync() => RealCluster.StartAsync(server, 2);
}
