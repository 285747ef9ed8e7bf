using System.Net;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Pools;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Nodes in this process that share a real database, with links between them. Agents and services come with the tests.</summary>
internal sealed class RealCluster : IAsyncDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-nodes-");
    private readonly List<EntryFixture> _nodes = [];
    private readonly List<string[]> _settings = [];

    private RealCluster()
    {
    }

    /// <summary>The nodes e1, e2 and so on.</summary>
    public IReadOnlyList<EntryFixture> Nodes => _nodes;

    /// <summary>The database.</summary>
    public string Database { get; private init; } = "";

    /// <summary>The services a, b and so on.</summary>
    public List<NamedService> Services { get; } = [];

    /// <summary>The agents that were started.</summary>
    public List<AgentFixture> Agents { get; } = [];

    /// <summary>The state folder of a node, which no other one has.</summary>
    public string StateOf(int node) => Path.Combine(_folder.FullName, $"state{node}");

    /// <summary>Starts nodes, and as many services. In settings <c>{node}</c> is the number of the node, from 1.</summary>
    public static Task<RealCluster> StartAsync(PostgresServer server, int nodes, params string[] settings) =>
        StartAsync(server, nodes, null, _ => settings);

    /// <summary>Starts nodes, each with settings of its own.</summary>
    public static Task<RealCluster> StartAsync(PostgresServer server, int nodes, Func<int, string[]> settings) =>
        StartAsync(server, nodes, null, settings);

    /// <summary>Starts nodes that are announced to agents.</summary>
    /// <param name="server">The database.</param>
    /// <param name="zones">The zone of each node.</param>
    /// <param name="settings">Further settings of each.</param>
    public static Task<RealCluster> StartAnnouncedAsync(PostgresServer server, string[] zones, params string[] settings) =>
        StartAsync(server, zones.Length, zones, _ => settings);

    /// <summary>Starts nodes that are announced to agents, each with settings of its own; a later one counts.</summary>
    /// <param name="server">The database.</param>
    /// <param name="zones">The zone of each node.</param>
    /// <param name="settings">Further settings of a node, whose uplinks are to listen at a free port of this machine.</param>
    public static Task<RealCluster> StartAnnouncedAsync(PostgresServer server, string[] zones, Func<int, string[]> settings) =>
        StartAsync(server, zones.Length, zones, settings);

    private static async Task<RealCluster> StartAsync(
        PostgresServer server, int nodes, string[]? zones, Func<int, string[]> settings)
    {
        var database = await server.CreateDatabaseAsync(TestContext.Current.CancellationToken);
        var cluster = new RealCluster { Database = database };
        new ClusterAuthority(cluster._folder.FullName, DateTimeOffset.UtcNow.AddDays(-60)).Create();
        var authority = new ClusterAuthority(cluster._folder.FullName, DateTimeOffset.UtcNow);
        for (var i = 1; i <= nodes; i++)
        {
            authority.Issue($"e{i}", TimeSpan.FromDays(30));
            var uplink = $"127.0.0.1:{FreePort.Next()}";
            string[] announced =
                zones is null ? [] : [$"Uplink:Listen={uplink}", $"Cluster:Uplink={uplink}", $"Cluster:Zone={zones[i - 1]}"];
            cluster._settings.Add(
                [
                    $"EntryId=e{i}",
                    $"Cluster:Database={database}",
                    $"Cluster:Listen={new IPEndPoint(IPAddress.Loopback, 0)}",
                    $"Cluster:Certificate={Path.Combine(cluster._folder.FullName, $"e{i}.pem")}",
                    $"Cluster:Ca={Path.Combine(cluster._folder.FullName, "ca.pem")}",
                    "Pool:SlowStart=off",
                    .. announced,
                    $"StateFolder={cluster.StateOf(i - 1)}",
                    .. settings(i - 1).Select(setting => setting.Replace("{node}", $"{i}", StringComparison.Ordinal)),
                ]);
            cluster._nodes.Add(await EntryFixture.StartNodeAsync(null, null, cluster._settings[^1]));
            cluster.Services.Add(new NamedService(((char)('a' + i - 1)).ToString()));
        }

        return cluster;
    }

    /// <summary>Starts a node again that was stopped: at the same address for agents, if it has one of its own.</summary>
    public async Task RestartAsync(int node)
    {
        await _nodes[node].DisposeAsync();
        _nodes[node] = await EntryFixture.StartNodeAsync(null, null, _settings[node]);
    }

    /// <summary>Starts another process with the name of a node, as a mistake does; that one continues under a further name.</summary>
    /// <returns>The new one, the caller's to dispose of.</returns>
    public async Task<EntryFixture> StartTwinAsync(int node) =>
        await EntryFixture.StartNodeAsync(null, null, [.. _settings[node], $"StateFolder={StateOf(_nodes.Count + node)}"]);

    /// <summary>Takes a node out of service, or back into it, as <c>cluster drain</c> does.</summary>
    public async Task DrainAsync(int node, bool isDrained) => Assert.True(
        await _nodes[node].Part<IClusterStore>().SetDrainedAsync($"e{node + 1}", isDrained, CancellationToken.None));

    /// <summary>Waits until each node in service knows so many others that it can announce.</summary>
    public async Task WaitForAnnouncedAsync(int others, params int[] nodes)
    {
        foreach (var node in nodes.Length == 0 ? [.. Enumerable.Range(0, _nodes.Count)] : nodes)
        {
            var known = _nodes[node].Part<IOtherNodes>();
            await WaitSignal.UntilAsync(
                () => (known.Announcement?.Others.Count ?? 0) == others, $"e{node + 1} announces {others} nodes", TimeSpan.FromSeconds(60));
        }
    }

    /// <summary>
    /// Asks at a node that has no session until its links to all that have one are open. Until then requests are passed to those that can
    /// be reached at once, and have no part in what is counted.
    /// </summary>
    public async Task OpenLinksAsync(int node, int links)
    {
        for (var i = 0; i < links; i++)
        {
            await AskAsync(node);
        }

        await _nodes[node].UntilAsync(() => ClusterFixture.LinksOf(_nodes[node]) >= links, $"e{node + 1} has {links} links");
    }

    /// <summary>The options of an agent of a service that has sessions with some nodes.</summary>
    public AgentOptions Options(int service, params int[] nodes) =>
        AgentFixture.Options(_nodes[nodes[0]].Uplink.Port, Services[service].Port) with
        {
            Further =
            [
                .. nodes.Skip(1).Select(node => new ServerAccess(
                    new ServerEndpoint("127.0.0.1", _nodes[node].Uplink.Port), null, null, IsWebSocket: false)),
            ],
        };

    /// <summary>Starts an agent, and waits until it has a session with each of its servers.</summary>
    public async Task<AgentFixture> StartAgentAsync(AgentOptions options)
    {
        var agent = await AgentFixture.StartReadyAsync(options);
        Agents.Add(agent);
        if (options.Further.Count > 0)
        {
            await agent.Events.WaitForServersAsync(1 + options.Further.Count);
        }

        return agent;
    }

    /// <summary>One request at a node, on a connection of its own, which has to succeed.</summary>
    /// <returns>The name of the service that answered.</returns>
    public async Task<string> AskAsync(int node, string fields = "")
    {
        await using var visitor = await RawHttpClient.ConnectAsync(_nodes[node].Http);
        var (head, body) = await visitor.ExchangeAsync("/", ClusterFixture.Host, fields: fields);
        Assert.Equal((200, null), (head.StatusCode, head["Tunnel2-Error"]));
        return body.Text();
    }

    /// <summary>Requests at a node, one after the other.</summary>
    /// <returns>How many each service has answered.</returns>
    public async Task<Dictionary<string, int>> AskAsync(int node, int count)
    {
        var answers = new Dictionary<string, int>();
        for (var i = 0; i < count; i++)
        {
            var name = await AskAsync(node);
            answers[name] = answers.GetValueOrDefault(name) + 1;
        }

        return answers;
    }

    /// <summary>Requests that a node has passed to others.</summary>
    public double PassedBy(int node) => ClusterFixture.Sum(_nodes[node], "tunnel2_entry_node_streams_total", "out");

    public async ValueTask DisposeAsync()
    {
        Services.ForEach(static service => service.MayAnswer.Set());
        foreach (var agent in Agents)
        {
            await agent.DisposeAsync();
        }

        foreach (var node in _nodes)
        {
            await node.DisposeAsync();
        }

        foreach (var service in Services)
        {
            await service.DisposeAsync();
        }

        _folder.Delete(recursive: true);
    }
}
