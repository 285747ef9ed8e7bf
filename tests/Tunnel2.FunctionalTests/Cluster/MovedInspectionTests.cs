using System.Net;
using System.Text.Json;
using Npgsql;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.ProxyEntry.Inspection;
using Tunnel2.TestUtilities;
using static Tunnel2.FunctionalTests.Cluster.AdministeredCluster;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>An inspection of a session whose agent comes to another node.</summary>
public sealed class MovedInspectionTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task An_inspection_continues_where_the_session_comes_to_and_ends_when_it_was_to_end()
    {
        await using var cluster = await StartAsync(server, 3);
        await using var balancer = CuttingProxy.Start(cluster.Cluster.Nodes[0].Uplink);
        await cluster.StartAgentAsync(balancer);
        await cluster.InspectAsync(2);
        var until = UntilOf(await cluster.GetAsync(2, Session + "/inspection"));
        await cluster.VisitAsync(2, "/before");
        await cluster.KeepsAsync(1, "e1");
        await MoveAsync(cluster, balancer, 0, 1);
        await cluster.VisitAsync(2, "/after");
        for (var node = 0; node < 3; node++)
        {
            await AssertListedAsync(cluster, node, "e2:1", "e1:1");
            Assert.InRange(
                UntilOf(await cluster.GetAsync(node, Session + "/inspection")), until - TimeSpan.FromSeconds(5),
                until + TimeSpan.FromSeconds(1));
        }

        Assert.Single(cluster.Cluster.Nodes[1].Log.All, static line => line.EventId == 2244);

        // Further time holds for the node that has the session as for all others, and so does the end.
        using var prolonged = await cluster.Admin(0).PutAsync(Session + "/inspection?minutes=60", null);
        using var json = JsonDocument.Parse(await prolonged.Content.ReadAsStringAsync());
        Assert.True(json.RootElement.GetProperty("follows").GetBoolean());
        Assert.True(UntilOf(await cluster.GetAsync(1, Session + "/inspection")) > until + TimeSpan.FromMinutes(50));
        Assert.Equal(HttpStatusCode.NoContent, (await cluster.Admin(2).DeleteAsync(Session + "/inspection")).StatusCode);
        await cluster.EndedAsync();
        for (var node = 0; node < 3; node++)
        {
            Assert.Equal(404, (await cluster.AskAsync(node, Session + "/exchanges")).Status);
        }

        // It does not begin again with the next move.
        cluster.Cluster.Nodes[0].Part<NodeDrain>().Set(false);
        await MoveAsync(cluster, balancer, 1, 0);
        await cluster.VisitAsync(0, "/unseen");
        Assert.Equal(404, (await cluster.AskAsync(0, Session + "/exchanges")).Status);
        Assert.Equal(HttpStatusCode.NotFound, (await cluster.Admin(0).DeleteAsync(Session + "/inspection")).StatusCode);
    }

    [Fact]
    public async Task A_list_that_waits_answers_when_the_session_comes_to_another_node()
    {
        await using var cluster = await StartAsync(server, 2);
        await using var balancer = CuttingProxy.Start(cluster.Cluster.Nodes[0].Uplink);
        await cluster.StartAgentAsync(balancer);
        await cluster.InspectAsync(1);
        await cluster.KeepsAsync(1, "e1");
        var since = await VersionAsync(cluster);
        var waiting = cluster.GetAsync(1, $"{Session}/exchanges?since={since}&wait=25");
        await MoveAsync(cluster, balancer, 0, 1);
        var version = (await waiting).GetProperty("version").GetString();
        Assert.NotEqual(since, version);
    }

    [Fact]
    public async Task A_node_that_has_to_take_another_name_has_its_exchanges_under_that_one()
    {
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0);
        await cluster.InspectAsync(1);
        await cluster.VisitAsync(1, "/before");
        await cluster.KeepsAsync(1, "e1");
        await using var twin = await cluster.Cluster.StartTwinAsync(0);
        var renamed = cluster.Cluster.Nodes[0];
        await renamed.Log.WaitForAsync(2704);
        await KnowsAsync(cluster.Cluster.Nodes[1], 2);
        await KnowsAsync(renamed, 2);
        var name = renamed.Part<IOtherNodes>().Self;
        Assert.StartsWith("e1~", name, StringComparison.Ordinal);
        await cluster.KeepsAsync(1, name);
        await cluster.KeepsAsync(1, "e1", processes: 0);
        for (var node = 0; node < 2; node++)
        {
            var list = await cluster.WholeAsync(node, Session + "/exchanges");
            Assert.Equal([$"{name}:1"], Ids(list));
            Assert.DoesNotContain(
                "restarted", list.GetProperty("nodes").EnumerateArray().Select(static one => one.GetProperty("state").GetString()));
            Assert.Equal(
                $"{name}:1", (await cluster.GetAsync(node, $"{Session}/exchanges/{name}:1")).GetProperty("id").GetString());
        }

        // An error says which of the two has failed the request.
        var gone = AgentFixture.Options(renamed.Uplink.Port, FreePort.Next(), "gone");
        await cluster.Cluster.StartAgentAsync(gone);
        await using var visitor = await RawHttpClient.ConnectAsync(cluster.Cluster.Nodes[1].Http);
        var (head, _) = await visitor.ExchangeAsync("/", ClusterFixture.Host.Replace("web", "gone", StringComparison.Ordinal));
        Assert.Equal((502, true), (head.StatusCode, head["Proxy-Status"]!.Contains($"node=\"{name}\"", StringComparison.Ordinal)));
    }

    [Fact]
    public async Task A_node_that_was_lost_with_its_exchanges_is_named()
    {
        await using var cluster = await StartAsync(server, 2);
        await using var balancer = CuttingProxy.Start(cluster.Cluster.Nodes[0].Uplink);
        await cluster.StartAgentAsync(balancer);
        await cluster.InspectAsync(1);
        await cluster.VisitAsync(1, "/gone");
        await cluster.KeepsAsync(1, "e1");
        balancer.Target = cluster.Cluster.Nodes[1].Uplink;
        await cluster.Cluster.Nodes[0].DisposeAsync();
        await cluster.Cluster.Nodes[1].WaitForSessionsAsync(1);
        await KnowsAsync(cluster.Cluster.Nodes[1], 0);
        await cluster.VisitAsync(1, "/kept");
        var list = await cluster.GetAsync(1, Session + "/exchanges");
        Assert.Equal(["e2:1"], Ids(list));
        Assert.Equal("lost", NodeOf(list, "e1").GetProperty("state").GetString());
        Assert.Contains("gone", NodeOf(list, "e1").GetProperty("problem").GetString(), StringComparison.Ordinal);
        Assert.Equal("no-node", (await cluster.AskAsync(1, Session + "/exchanges/e1:1")).Json.GetProperty("code").GetString());
        var har = (await cluster.GetAsync(1, Session + "/exchanges.har")).GetProperty("log");
        Assert.Equal(1, har.GetProperty("entries").GetArrayLength());
        Assert.Contains("e1", har.GetProperty("comment").GetString(), StringComparison.Ordinal);
        var compared = await cluster.AskAsync(1, Session + "/exchanges/e1:1/compare/e2:1");
        Assert.Equal((503, "node-lost"), (compared.Status, compared.Json.GetProperty("code").GetString()));

        // The same node, started again, has nothing of what was before, and inspects the session when it comes back.
        await cluster.Cluster.RestartAsync(0);
        await KnowsAsync(cluster.Cluster.Nodes[1], 1);
        Assert.Equal("restarted", await StateAsync());

        // Also while it could not make itself known as a node that keeps exchanges: no node can change what they share.
        await using (var holding = new NpgsqlConnection(cluster.Cluster.Database))
        {
            await holding.OpenAsync();
            await using var transaction = await holding.BeginTransactionAsync();
            await using var hold = new NpgsqlCommand(
                "select from tunnel2_shared where kind = 'inspections' and key = '' for update", holding, transaction);
            await hold.ExecuteNonQueryAsync();
            await MoveAsync(cluster, balancer, 1, 0);
            await cluster.VisitAsync(1, "/back");
            Assert.Single(cluster.Cluster.Nodes[1].Part<SharedInspections>().KeepersOf("web"), static one => one.Node == "e1");
            Assert.Equal("restarted", await StateAsync());
        }

        await cluster.KeepsAsync(1, "e1", processes: 2);
        await AssertListedAsync(cluster, 1, "e1:1", "e2:1");
        Assert.Equal("restarted", await StateAsync());

        async Task<string?> StateAsync() =>
            NodeOf(await cluster.GetAsync(1, Session + "/exchanges"), "e1").GetProperty("state").GetString();
    }

    [Fact]
    public async Task An_inspection_that_began_without_the_database_follows_the_session_when_that_is_back()
    {
        await using var cluster = await StartAsync(server, 2);
        await using var balancer = CuttingProxy.Start(cluster.Cluster.Nodes[0].Uplink);
        await cluster.StartAgentAsync(balancer);
        await server.StopAsync();
        try
        {
            using var begun = await cluster.Admin(1).PutAsync(Session + "/inspection?minutes=5", null);
            using var json = JsonDocument.Parse(await begun.Content.ReadAsStringAsync());
            Assert.Equal((HttpStatusCode.OK, false), (begun.StatusCode, json.RootElement.GetProperty("follows").GetBoolean()));
            await cluster.Cluster.Nodes[1].Log.WaitForAsync(2245);
            await cluster.VisitAsync(0, "/before");
        }
        finally
        {
            await server.StartAsync();
        }

        await cluster.KeepsAsync(1, "e1");
        await MoveAsync(cluster, balancer, 0, 1);
        await cluster.VisitAsync(0, "/after");
        await AssertListedAsync(cluster, 0, "e2:1", "e1:1");
    }

    private static async Task<string> VersionAsync(AdministeredCluster cluster) =>
        (await cluster.GetAsync(1, Session + "/exchanges")).GetProperty("version").GetString()!;

    /// <summary>Takes a node out of service, and waits until the session is at another one.</summary>
    private static async Task MoveAsync(AdministeredCluster cluster, CuttingProxy balancer, int from, int to)
    {
        balancer.Target = cluster.Cluster.Nodes[to].Uplink;
        cluster.Cluster.Nodes[from].Part<NodeDrain>().Set(true);
        await cluster.Cluster.Nodes[to].WaitForSessionsAsync(1);
        await WaitSignal.UntilAsync(() => cluster.Cluster.Nodes[from].Directory.Count == 0, "the name has moved", _long);
    }

    private static async Task AssertListedAsync(AdministeredCluster cluster, int node, params string[] ids)
    {
        var list = await cluster.GetAsync(node, Session + "/exchanges");
        Assert.Equal(ids, Ids(list));
        Assert.Equal(
            ids.Select(static id => id[..2]),
            list.GetProperty("exchanges").EnumerateArray().Select(static one => one.GetProperty("node").GetString()!));
    }

    private static DateTimeOffset UntilOf(JsonElement inspection) => inspection.GetProperty("until").GetDateTimeOffset();

    private static JsonElement NodeOf(JsonElement list, string node) =>
        list.GetProperty("nodes").EnumerateArray().Single(one => one.GetProperty("node").GetString() == node);
}
