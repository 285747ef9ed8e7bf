using System.Text;
using System.Text.Json;
using Tunnel2.FunctionalTests.Administration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Tokens of the API at two nodes, over a real database.</summary>
public sealed class SharedTokenTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task A_token_that_one_node_makes_is_in_force_at_the_other_and_revoked_there_for_both()
    {
        await using var cluster = await StartAsync();
        using var first = new AdminApi(cluster.Nodes[0]);
        using var second = new AdminApi(cluster.Nodes[1]);
        var token = await first.CreateTokenAsync("""{"name":"ci","names":["ci-*"]}""");
        await KnowsAsync(cluster, 1, 1);
        await using var agent = await ConnectAsync(cluster.Nodes[0], "ci-1", token);
        await using var other = await ConnectAsync(cluster.Nodes[1], "ci-2", token);
        Assert.Equal(["ci"], await NamesAsync(second));

        var (status, json, _) = await second.SendAsync("DELETE", "tokens/ci");
        Assert.Equal((200, 1), (status, json!.Value.GetProperty("sessionsEnded").GetInt32()));
        Assert.Equal(SessionEndReason.Revoked, (await other.ReadUntilAsync(FrameType.GoAway)).GoAway.Reason);
        Assert.Equal(SessionEndReason.Revoked, (await agent.ReadUntilAsync(FrameType.GoAway)).GoAway.Reason);
        Assert.Empty(await NamesAsync(first));
        Assert.Equal(RejectCode.Unauthorized, (await AskAsync(cluster.Nodes[0], "ci-1", token)).Code);
        Assert.Empty(Directory.GetFiles(Path.Combine(cluster.StateOf(0), "tokens")));
        await first.RefusedAsync(404, "no-token", "DELETE", "tokens/ci");

        // The database has the hash, as the files have.
        await second.CreateTokenAsync("""{"name":"next","names":["next"]}""");
        var stored = (byte[])(await PostgresServer.AskAsync(
            cluster.Database, "select value from tunnel2_shared where kind = 'tokens' and key = 'next'", Ending))!;
        Assert.DoesNotContain("t2_", Encoding.UTF8.GetString(stored), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Two_nodes_that_make_a_token_of_one_name_at_once_have_one()
    {
        await using var cluster = await StartAsync();
        using var first = new AdminApi(cluster.Nodes[0]);
        using var second = new AdminApi(cluster.Nodes[1]);
        const string Body = """{"name":"web","names":["web"]}""";
        var both = await Task.WhenAll(first.SendAsync("POST", "tokens", Body), second.SendAsync("POST", "tokens", Body));
        Assert.Equal([201, 409], both.Select(static one => one.Status).Order());
        var token = Text(both.Single(static one => one.Status == 201).Json!.Value, "token");
        for (var node = 0; node < 2; node++)
        {
            await KnowsAsync(cluster, node, 1);
            await using (await ConnectAsync(cluster.Nodes[node], "web", token))
            {
            }
        }
    }

    [Fact]
    public async Task Without_the_database_known_tokens_continue_and_changes_are_refused()
    {
        await using var cluster = await StartAsync();
        using var first = new AdminApi(cluster.Nodes[0]);
        using var second = new AdminApi(cluster.Nodes[1]);
        var token = await first.CreateTokenAsync("""{"name":"web","names":["web*"]}""");
        await KnowsAsync(cluster, 1, 1);
        await using var agent = await ConnectAsync(cluster.Nodes[1], "web", token);
        await server.StopAsync();
        try
        {
            // Both of them: one that has not noticed it has nothing to say when it is over.
            foreach (var node in cluster.Nodes)
            {
                await node.UntilAsync(
                    () => node.Log.All.Any(static line => line.EventId == 2720
                        && line.Text.Contains("(tokens)", StringComparison.Ordinal)),
                    "the node has noticed it for its tokens", _long);
            }

            await second.RefusedAsync(503, "cluster-database", "POST", "tokens", """{"name":"new","names":["new"]}""");
            await second.RefusedAsync(503, "cluster-database", "DELETE", "tokens/web");
            Assert.Equal(["web"], await NamesAsync(second));
            await agent.SyncAsync();

            // It may be a token that another node has just made.
            Assert.Equal(RejectCode.Overloaded, (await AskAsync(cluster.Nodes[1], "new", "t2_unknown")).Code);
        }
        finally
        {
            await server.StartAsync();
        }

        await cluster.Nodes[0].Log.WaitForAsync(2721);
        await cluster.Nodes[1].Log.WaitForAsync(2721);
        await second.CreateTokenAsync("""{"name":"new","names":["new"]}""");
        await KnowsAsync(cluster, 0, 2);
        await agent.SyncAsync();
        Assert.Equal(RejectCode.Unauthorized, (await AskAsync(cluster.Nodes[1], "new", "t2_unknown")).Code);
    }

    [Fact]
    public async Task A_database_that_was_emptied_is_filled_again_and_no_session_ends()
    {
        await using var cluster = await StartAsync();
        using var first = new AdminApi(cluster.Nodes[0]);
        var token = await first.CreateTokenAsync("""{"name":"web","names":["web"]}""");
        await KnowsAsync(cluster, 1, 1);
        await using var agent = await ConnectAsync(cluster.Nodes[1], "web", token);
        await PostgresServer.ExecuteAsync(cluster.Database, "truncate tunnel2_shared", Ending);
        // One of them has filled it. The other one has what it had, and says nothing.
        await await Task.WhenAny(cluster.Nodes.Select(one => one.UntilAsync(
            () => cluster.Nodes.Sum(static node => node.Log.All.Count(
                static line => line.EventId == 2238 && line.Text.Contains("tokens", StringComparison.Ordinal))) >= 3,
            "it is filled", _long)));
        Assert.Equal(1L, await PostgresServer.AskAsync(cluster.Database, "select count(*) from tunnel2_shared where key = 'web'", Ending));
        await agent.SyncAsync();
        var (status, _, _) = await first.SendAsync("DELETE", "tokens/web");
        Assert.Equal(200, status);
        Assert.Equal(SessionEndReason.Revoked, (await agent.ReadUntilAsync(FrameType.GoAway)).GoAway.Reason);
    }

    [Fact]
    public async Task A_row_that_is_garbage_harms_no_other_and_can_be_removed()
    {
        await using var cluster = await StartAsync();
        using var first = new AdminApi(cluster.Nodes[0]);
        await PostgresServer.ExecuteAsync(
            cluster.Database,
            "insert into tunnel2_shared values ('tokens', 'bad', 1, '\\xff00', clock_timestamp()), ('tokens', E'a\\nb/../c', 2, '{}', "
                + "clock_timestamp())",
            Ending);
        var token = await first.CreateTokenAsync("""{"name":"web","names":["web"]}""");
        await KnowsAsync(cluster, 1, 1);
        await cluster.Nodes[1].Log.WaitForAsync(2232);
        await using var agent = await ConnectAsync(cluster.Nodes[1], "web", token);
        Assert.Equal(["web"], await NamesAsync(first));
        Assert.Equal(200, (await first.SendAsync("DELETE", "tokens/bad")).Status);
        await agent.SyncAsync();
    }

    /// <summary>The line follows when the tokens are in force.</summary>
    private static Task KnowsAsync(RealCluster cluster, int node, int count) => cluster.Nodes[node].UntilAsync(
        () => cluster.Nodes[node].Log.All.Any(line => line.EventId == 2233
            && line.Text.Contains($"{count} tokens are kept", StringComparison.Ordinal)),
        $"node {node} knows {count} tokens", _long);

    private static async Task<string[]> NamesAsync(AdminApi api) =>
        [.. (await api.GetAsync("tokens")).GetProperty("tokens").EnumerateArray().Select(static one => Text(one, "name"))];

    private static string Text(JsonElement element, string member) => element.GetProperty(member).GetString()!;

    private static async Task<RawUplink> ConnectAsync(EntryFixture entry, string name, string token)
    {
        var peer = await RawUplink.ConnectAsync(entry.Uplink);
        await peer.SendAsync(Hello(name, token).ToFrame());
        Assert.Equal(FrameType.Welcome, (await peer.ReadAsync())?.Type);
        return peer;
    }

    private static async Task<RejectMessage> AskAsync(EntryFixture entry, string name, string token)
    {
        await using var peer = await RawUplink.ConnectAsync(entry.Uplink);
        await peer.SendAsync(Hello(name, token).ToFrame());
        return Assert.Single(await peer.ReadToEndAsync()).Reject;
    }

    private static HelloMessage Hello(string name, string token) =>
        RawUplink.Hello(name) with { ProofKind = TokenProofKind.Bearer, Proof = Encoding.UTF8.GetBytes(token) };

    private Task<RealCluster> StartAsync() => RealCluster.StartAsync(server, 2, "Uplink:FailuresPerMinute=0");
}
