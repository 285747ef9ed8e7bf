using System.Net;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>Processes that are the nodes e1, e2 and so on of a cluster: with a real database, and links between them.</summary>
internal sealed class ClusterProcesses : IAsyncDisposable
{
    private readonly TemporaryFolder _folder = new();
    private readonly List<EntryProcess> _nodes = [];

    /// <summary>The nodes, in order.</summary>
    public IReadOnlyList<EntryProcess> Nodes => _nodes;

    /// <summary>Starts nodes; all serve when the task ends.</summary>
    public static async Task<ClusterProcesses> StartAsync(PostgresServer server, int nodes)
    {
        var database = await server.CreateDatabaseAsync(TestContext.Current.CancellationToken);
        var cluster = new ClusterProcesses();
        new ClusterAuthority(cluster._folder[""], DateTimeOffset.UtcNow.AddDays(-60)).Create();
        var authority = new ClusterAuthority(cluster._folder[""], DateTimeOffset.UtcNow);
        for (var i = 1; i <= nodes; i++)
        {
            authority.Issue($"e{i}", TimeSpan.FromDays(30));
            cluster._nodes.Add(await EntryProcess.StartAsync(
                $"--Tunnel2:EntryId=e{i}", $"--Tunnel2:Cluster:Database={database}",
                $"--Tunnel2:StateFolder={cluster._folder[$"state{i}"]}",
                $"--Tunnel2:Cluster:Listen={new IPEndPoint(IPAddress.Loopback, FreePort.Next())}",
                $"--Tunnel2:Cluster:Certificate={cluster._folder[$"e{i}.pem"]}", $"--Tunnel2:Cluster:Ca={cluster._folder["ca.pem"]}"));
        }

        return cluster;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var node in _nodes)
        {
            await node.DisposeAsync();
        }

        _folder.Dispose();
    }
}
