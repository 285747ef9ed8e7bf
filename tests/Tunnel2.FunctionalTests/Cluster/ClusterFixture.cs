using System.Collections.Concurrent;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>
/// Nodes of a cluster in this process, linked over real sockets, with one authority. The agent of <c>web</c> is at the first node, and
/// visitors come to the last one. After a test that passed it is checked that no stream, no credit and no error is left.
/// </summary>
internal sealed class ClusterFixture : IAsyncDisposable
{
    /// <summary>The Host under which the tunnel is reached.</summary>
    public const string Host = "web.localhost";

    private readonly DirectoryInfo _folder;
    private readonly List<EntryFixture> _nodes = [];
    /// <summary>Tests connect from several threads at once.</summary>
    private readonly ConcurrentQueue<IDisposable> _visitors = [];
    private readonly CancellationTokenSource _outOfPatience = new(TimeSpan.FromSeconds(60));

    private ClusterFixture() => _folder = Directory.CreateTempSubdirectory("tunnel2-cluster-");

    /// <summary>The nodes e1, e2 and so on.</summary>
    public IReadOnlyList<EntryFixture> Nodes => _nodes;

    /// <summary>What each of them knows.</summary>
    public List<FakeLocator> Locators { get; } = [];

    /// <summary>The node of the session.</summary>
    public EntryFixture Owner => _nodes[0];

    /// <summary>The node where visitors come in.</summary>
    public EntryFixture Front => _nodes[^1];

    /// <summary>What the front knows.</summary>
    public FakeLocator Knowledge => Locators[^1];

    /// <summary>The port of the service.</summary>
    public int Service { get; private set; }

    /// <summary>The agent.</summary>
    public AgentFixture Agent { get; private set; } = null!;

    /// <summary>The folder with the certificates.</summary>
    public string Folder => _folder.FullName;

    /// <summary>Events of errors that the test itself causes.</summary>
    public List<int> ExpectedErrors { get; } = [];

    /// <summary>Runs a test.</summary>
    /// <param name="backend">What the service does with a connection.</param>
    /// <param name="test">The test.</param>
    /// <param name="nodes">How many nodes.</param>
    /// <param name="settings">Further settings of each node.</param>
    public static async Task RunAsync(
        Func<RawConnection, Task> backend, Func<ClusterFixture, Task> test, int nodes = 2, params string[] settings)
    {
        await using var service = RawTcpServer.Start(backend);
        await using var cluster = new ClusterFixture { Service = service.Port };
        new ClusterAuthority(cluster.Folder, DateTimeOffset.UtcNow.AddDays(-60)).Create();
        var authority = new ClusterAuthority(cluster.Folder, DateTimeOffset.UtcNow);
        for (var i = 1; i <= nodes; i++)
        {
            authority.Issue($"e{i}", TimeSpan.FromDays(30));
            await cluster.AddNodeAsync($"e{i}", settings);
        }

        cluster.Agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(cluster.Owner.Uplink.Port, service.Port));
        cluster.Locators.ForEach(locator => locator.Truth["web"] = cluster.PlaceOf(0));
        try
        {
            await test(cluster);
        }
        catch (Exception exception) when (cluster._outOfPatience.IsCancellationRequested)
        {
            throw new TimeoutException("A visitor waited for more than a minute.", exception);
        }

        await cluster.VerifyAsync();
    }

    /// <summary>A service that answers each request with 200 and <c>ok</c>, until its peer ends the connection.</summary>
    public static async Task ServeOkAsync(RawConnection connection)
    {
        while (true)
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    }

    /// <summary>Where a session of <c>web</c> is that is at a node.</summary>
    public NodeLocation PlaceOf(int node, long? epoch = null) => new(
        $"e{node + 1}",
        _nodes[node].Part<NodeLinkListener>().Address,
        epoch ?? _nodes[node].Directory.Snapshot().Where(static session => session.Name == "web").Select(static session => session.Epoch)
            .FirstOrDefault());

    /// <summary>Connects a visitor to the front.</summary>
    public async Task<RawHttpClient> ConnectAsync(int receiveBufferSize = 0)
    {
        var visitor = await RawHttpClient.ConnectAsync(Front.Http, receiveBufferSize);
        _outOfPatience.Token.UnsafeRegister(static socket => ((Socket)socket!).Dispose(), visitor.Socket);
        _visitors.Enqueue(visitor.Socket);
        return visitor;
    }

    /// <summary>One request on a connection of its own.</summary>
    public async Task<(RawHttpHead Head, RawHttpBody Body)> ExchangeAsync(string target = "/", string method = "GET", string fields = "")
    {
        await using var visitor = await ConnectAsync();
        return await visitor.ExchangeAsync(target, Host, method, fields);
    }

    /// <summary>Waits until this many links of the front to other nodes are open.</summary>
    public Task WaitForLinksAsync(int count) => Front.UntilAsync(
        () => LinksOf(Front) == count, $"{count} links are open");

    public async ValueTask DisposeAsync()
    {
        CloseVisitors();
        if (Agent is not null)
        {
            await Agent.DisposeAsync();
        }

        foreach (var node in _nodes)
        {
            await node.DisposeAsync();
        }

        _outOfPatience.Dispose();
        _folder.Delete(recursive: true);
    }

    /// <summary>The sum of a metric of a node.</summary>
    /// <param name="node">The node.</param>
    /// <param name="metric">Its name at /metrics.</param>
    /// <param name="label">A value that one of its labels has; empty: any.</param>
    public static double Sum(EntryFixture node, string metric, string label = "") =>
        Encoding.UTF8.GetString(node.Metrics.Collect()).Split('\n')
            .Where(line => line.StartsWith(metric, StringComparison.Ordinal)
                && (label.Length == 0 || line.Contains($"\"{label}\"", StringComparison.Ordinal)))
            .Sum(static line => double.Parse(line[(line.LastIndexOf(' ') + 1)..], CultureInfo.InvariantCulture));

    /// <summary>Connections of a node to others.</summary>
    public static int LinksOf(EntryFixture node) =>
        node.Log.All.Count(static line => line.EventId == 2181) - node.Log.All.Count(static line => line.EventId == 2182);

    private async Task AddNodeAsync(string id, string[] settings)
    {
        var locator = new FakeLocator();
        Locators.Add(locator);
        _nodes.Add(await EntryFixture.StartNodeAsync(
            locator,
            null,
            [
                $"EntryId={id}",
                $"Cluster:Listen={new IPEndPoint(IPAddress.Loopback, 0)}",
                $"Cluster:Certificate={Path.Combine(Folder, id + ".pem")}",
                $"Cluster:Ca={Path.Combine(Folder, "ca.pem")}",
                .. settings,
            ]));
    }

    private void CloseVisitors()
    {
        while (_visitors.TryDequeue(out var visitor))
        {
            visitor.Dispose();
        }
    }

    private async Task VerifyAsync()
    {
        CloseVisitors();
        foreach (var node in _nodes)
        {
            foreach (var uplink in node.Part<NodeHeartbeat>().Timer.Snapshot())
            {
                await WaitSignal.UntilAsync(
                    () => uplink.End is not null || (uplink.OpenStreams == 0 && uplink.ReceiveCredit.Held == 0),
                    "no stream of a link is open, and all credit is back");
            }

            await node.AssertQuietAsync();
        }

        // The front first, as its visitors are gone.
        for (var i = _nodes.Count - 1; i >= 0; i--)
        {
            await _nodes[i].StopAsync();
            _nodes[i].Log.AssertNoErrors([.. ExpectedErrors]);
        }

        UnobservedExceptions.AssertNone();
    }
}
