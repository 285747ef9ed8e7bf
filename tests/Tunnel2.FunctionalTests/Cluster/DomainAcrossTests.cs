using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Domains whose session is at another node than their visitor.</summary>
public sealed class DomainAcrossTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    private static readonly string[] _listed =
    [
        "Agents:one:TokenHash=" + EntryTokens.HashSetting("one"), "Agents:one:Names=*,app.example.org,*.example.net",
        "Agents:two:TokenHash=" + EntryTokens.HashSetting("two"), "Agents:two:Names=*,app.example.org,*.example.net",
    ];

    [Fact]
    public async Task A_domain_and_a_wildcard_are_served_at_every_node()
    {
        await using var cluster = await RealCluster.StartAsync(server, 2, _listed);
        await StartAsync(cluster, 0, 0, "app.example.org");
        await StartAsync(cluster, 1, 0, "*.example.net");
        for (var node = 0; node < 2; node++)
        {
            Assert.Equal((200, "a"), await AskAsync(cluster, node, "app.example.org"));
            Assert.Equal((200, "a"), await AskAsync(cluster, node, "APP.example.org:8443"));
            Assert.Equal((200, "b"), await AskAsync(cluster, node, "x.example.net"));
            Assert.Equal((200, "b"), await AskAsync(cluster, node, "y.example.net"));
            Assert.Equal(404, (await AskAsync(cluster, node, "x.example.com")).Status);
            Assert.Equal(404, (await AskAsync(cluster, node, "192.0.2.7")).Status);
        }

        Assert.Equal((0, 4), (cluster.PassedBy(0), cluster.PassedBy(1)));
    }

    [Fact]
    public async Task A_domain_of_another_node_counts_before_a_wildcard_of_this_one()
    {
        await using var cluster = await RealCluster.StartAsync(server, 2, _listed);
        await StartAsync(cluster, 1, 1, "*.example.net", "two");
        Assert.Equal((200, "b"), await AskAsync(cluster, 1, "x.example.net"));
        Assert.Equal((200, "b"), await AskAsync(cluster, 0, "x.example.net"));

        var one = await StartAsync(cluster, 0, 0, "x.example.net", "one");
        await SameAsync(cluster, 1, "x.example.net", "a");
        await SameAsync(cluster, 0, "x.example.net", "a");
        Assert.Equal((200, "b"), await AskAsync(cluster, 0, "y.example.net"));
        Assert.Equal(0, await one.StopAsync());
    }

    [Fact]
    public async Task A_domain_has_one_owner_at_all_nodes()
    {
        await using var cluster = await RealCluster.StartAsync(server, 2, _listed);
        var both = new[]
        {
            AgentFixture.Start(Options(cluster, 0, 0, "app.example.org", "one") with { ExitOnFailure = true }),
            AgentFixture.Start(Options(cluster, 1, 1, "app.example.org", "two") with { ExitOnFailure = true }),
        };
        cluster.Agents.AddRange(both);
        var refused = await Task.WhenAny(both.Select(static agent => agent.Completion)).WaitAsync(_long);
        Assert.Equal(AgentExitCode.Rejected, await refused);
        var winner = both[0].Completion.IsCompleted ? 1 : 0;
        await both[winner].Events.ReadyCount.WaitForAsync(1, _long);
        for (var node = 0; node < 2; node++)
        {
            Assert.Equal((200, winner == 0 ? "a" : "b"), await AskAsync(cluster, node, "app.example.org"));
        }
    }

    [Fact]
    public async Task Visitors_follow_a_domain_whose_agent_moves_and_whose_node_stops()
    {
        await using var cluster = await RealCluster.StartAsync(server, 3, [.. _listed, "Timeouts:Park=1m"]);
        await StartAsync(cluster, 0, 0, "*.example.net");
        await SameAsync(cluster, 2, "x.example.net", "a");

        // The same agent comes to another node.
        await StartAsync(cluster, 1, 1, "*.example.net");
        await SameAsync(cluster, 2, "x.example.net", "b");
        await cluster.Nodes[1].StopAsync();
        var waiting = AskAsync(cluster, 2, "x.example.net");
        await StartAsync(cluster, 0, 0, "*.example.net");
        Assert.Equal((200, "a"), await waiting.WaitAsync(_long));
    }

    [Fact]
    public async Task An_error_names_the_node_of_the_domain()
    {
        await using var cluster = await RealCluster.StartAsync(server, 2, _listed);
        await StartAsync(cluster, 0, 0, "app.example.org");
        await cluster.Services[0].DisposeAsync();
        await using var visitor = await RawHttpClient.ConnectAsync(cluster.Nodes[1].Http);
        var (head, _) = await visitor.ExchangeAsync("/", "app.example.org");
        Assert.Equal(502, head.StatusCode);
        Assert.Contains("node=\"e1\"", head["Proxy-Status"], StringComparison.Ordinal);
    }

    private static AgentOptions Options(RealCluster cluster, int service, int node, string domain, string token) =>
        cluster.Options(service, node) with { Name = domain, Token = token };

    private static Task<AgentFixture> StartAsync(RealCluster cluster, int service, int node, string domain, string token = "one") =>
        cluster.StartAgentAsync(Options(cluster, service, node, domain, token));

    private static async Task<(int Status, string Service)> AskAsync(RealCluster cluster, int node, string host)
    {
        await using var visitor = await RawHttpClient.ConnectAsync(cluster.Nodes[node].Http);
        var (head, body) = await visitor.ExchangeAsync("/", host);
        return (head.StatusCode, body.Text());
    }

    /// <summary>What one node has registered, the others hear a moment later.</summary>
    private static async Task SameAsync(RealCluster cluster, int node, string host, string service)
    {
        var at = TimeProvider.System.GetTimestamp();
        while (await AskAsync(cluster, node, host) is var answer && answer != (200, service))
        {
            Assert.True(TimeProvider.System.GetElapsedTime(at) < _long, $"{host} at node {node}: {answer.Status} {answer.Service}");
        }
    }
}
