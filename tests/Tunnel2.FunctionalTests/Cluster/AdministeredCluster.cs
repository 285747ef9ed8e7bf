using System.Net;
using System.Text.Json;
using Microsoft.Extensions.Logging;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.ProxyEntry.Inspection;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Nodes that know each other, a mirror as the service of <c>web</c>, and a client of each node's API.</summary>
internal sealed class AdministeredCluster : IAsyncDisposable
{
    public const string Session = "/api/v1/sessions/web";

    private const int MostAsked = 30;

    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    private readonly RawTcpServer _mirror = RawTcpServer.Start(Mirror.ServeAsync);
    private readonly List<HttpClient> _admins = [];

    private AdministeredCluster(RealCluster cluster) => Cluster = cluster;

    public RealCluster Cluster { get; }

    public static async Task<AdministeredCluster> StartAsync(PostgresServer server, int nodes, params string[] settings)
    {
        var administered = new AdministeredCluster(await RealCluster.StartAsync(server, nodes, settings));
        foreach (var node in administered.Cluster.Nodes)
        {
            await KnowsAsync(node, nodes - 1);
            administered._admins.Add(new HttpClient { BaseAddress = new Uri($"http://{node.Admin}"), Timeout = _long });
        }

        return administered;
    }

    /// <summary>The API of a node.</summary>
    public HttpClient Admin(int node) => _admins[node];

    /// <summary>Waits until a node knows as many others.</summary>
    public static Task KnowsAsync(EntryFixture node, int others) => WaitSignal.UntilAsync(
        () =>
        {
            node.Part<IOtherNodes>().Ask();
            return node.Part<IOtherNodes>().Known.Count == others;
        },
        $"{others} other nodes are known", _long);

    /// <summary>Starts the agent of <c>web</c> with sessions at some nodes.</summary>
    public Task<AgentFixture> StartAgentAsync(params int[] nodes)
    {
        var options = Cluster.Options(0, nodes);
        return Cluster.StartAgentAsync(options with { Upstream = AgentFixture.Options(1, _mirror.Port).Upstream });
    }

    /// <summary>Starts the agent of <c>web</c> at the node that a balancer leads to, and waits until the session is there.</summary>
    public async Task StartAgentAsync(CuttingProxy balancer)
    {
        var node = Cluster.Nodes.Single(node => node.Uplink.Port == balancer.Target.Port);
        var options = Cluster.Options(0, 0);
        await Cluster.StartAgentAsync(options with
        {
            Server = new ServerEndpoint("127.0.0.1", balancer.Port),
            Upstream = AgentFixture.Options(1, _mirror.Port).Upstream,
        });
        await node.WaitForSessionsAsync(1);
    }

    /// <summary>Inspects the session, asked at a node.</summary>
    public async Task InspectAsync(int node) =>
        Assert.Equal(HttpStatusCode.OK, (await Admin(node).PutAsync(Session + "/inspection?minutes=5", null)).StatusCode);

    /// <summary>Waits until a node knows that another one keeps exchanges.</summary>
    public Task KeepsAsync(int node, string keeper, int processes = 1) => WaitSignal.UntilAsync(
        () => Cluster.Nodes[node].Part<SharedInspections>().KeepersOf("web").Count(one => one.Node == keeper) == processes,
        $"{keeper} keeps exchanges", _long);

    /// <summary>Waits until all nodes know that the inspection has ended: those without the session hear of it from the database.</summary>
    public Task EndedAsync() => WaitSignal.UntilAsync(
        () => Cluster.Nodes.All(static node => node.Part<SharedInspections>().UntilOf("web") is null), "the inspection has ended", _long);

    /// <summary>One request at a node.</summary>
    public async Task VisitAsync(int node, string target, string fields = "", string body = "")
    {
        await using var visitor = await RawHttpClient.ConnectAsync(Cluster.Nodes[node].Http);
        await visitor.WriteAsync(
            $"POST {target} HTTP/1.1\r\nHost: {ClusterFixture.Host}\r\n{fields}Content-Length: {body.Length}\r\n\r\n{body}");
        var head = await visitor.ReadHeadAsync();
        await visitor.ReadBodyAsync(head);
        Assert.Equal(200, head.StatusCode);
    }

    /// <summary>What a node answers with 200.</summary>
    public async Task<JsonElement> GetAsync(int node, string path)
    {
        var (status, json, text) = await AskAsync(node, path);
        var warnings = string.Join('\n', Cluster.Nodes[node].Log.All.Where(static line => line.Level >= LogLevel.Warning));
        Assert.True(status == 200, $"{path} at {node}: {status} {text} {warnings}");
        return json;
    }

    /// <summary>What all nodes answer: one that answers late, as on a busy machine, is named as lost, and asked again.</summary>
    public async Task<JsonElement> WholeAsync(int node, string path)
    {
        for (var asked = 1; ; asked++)
        {
            // A node that is waited for in vain has made the answer late: no pause is needed.
            var list = await GetAsync(node, path);
            if (list.GetProperty("nodes").EnumerateArray().All(static one => one.GetProperty("state").GetString() != "lost"))
            {
                return list;
            }

            Assert.True(asked < MostAsked, $"{path} at {node}: a node does not answer: {list.GetProperty("nodes")}");
        }
    }

    /// <summary>What a node answers.</summary>
    public async Task<(int Status, JsonElement Json, string Text)> AskAsync(int node, string path)
    {
        using var response = await Admin(node).GetAsync(path);
        var text = await response.Content.ReadAsStringAsync();
        using var json = JsonDocument.Parse(text.Length == 0 ? "null" : text);
        return ((int)response.StatusCode, json.RootElement.Clone(), text);
    }

    /// <summary>The ids of a list.</summary>
    public static string[] Ids(JsonElement list) =>
        [.. list.GetProperty("exchanges").EnumerateArray().Select(static one => one.GetProperty("id").GetString()!)];

    public async ValueTask DisposeAsync()
    {
        _admins.ForEach(static admin => admin.Dispose());
        await Cluster.DisposeAsync();
        await _mirror.DisposeAsync();
    }
}
