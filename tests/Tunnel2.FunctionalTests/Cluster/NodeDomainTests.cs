using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Nodes with different settings, with real nodes and a real database.</summary>
public sealed class NodeDomainTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    [Fact]
    public async Task Nodes_with_another_domain_are_warned_of_once_at_each_node()
    {
        await using var cluster = await RealCluster.StartAsync(
            server, 3, static node => [$"Domain={(node == 1 ? "other.example" : "tunnel.example")}"]);
        for (var i = 0; i < 3; i++)
        {
            // Asks further times: each warning comes once.
            await AdministeredCluster.KnowsAsync(cluster.Nodes[i], 2);
            cluster.Nodes[i].Part<IOtherNodes>().Ask();
            await cluster.Nodes[i].UntilAsync(
                () => Warnings(i).Length >= (i == 1 ? 2 : 1), "the node warns of each one that has another domain");
        }

        Assert.Contains("Node e2 has the Domain other.example, and this one tunnel.example", Assert.Single(Warnings(0)));
        Assert.Contains("Node e2 has the Domain other.example", Assert.Single(Warnings(2)));
        Assert.Equal(2, Warnings(1).Length);

        string[] Warnings(int node) => [
            .. cluster.Nodes[node].Log.All.Select(static line => line.Text)
                .Where(static text => text.Contains("has the Domain", StringComparison.Ordinal)),
        ];
    }
}
