using System.Globalization;
using System.Net;
using Tunnel2.ClusterFaults.Networks;
using Tunnel2.TestUtilities;

namespace Tunnel2.ClusterFaults.Cluster;

/// <summary>PostgreSQL, three nodes, a balancer for agents, agents and a backend, all processes of the built programs.</summary>
internal sealed class FaultCluster : IAsyncDisposable
{
    private static readonly TimeSpan _startLimit = TimeSpan.FromSeconds(60);

    /// <summary>
    /// Agents of a release are native code. These would compile what they do often a second time just when all of them come back.
    /// </summary>
    private static readonly Dictionary<string, string?> _compiledOnce = new() { ["DOTNET_TieredCompilation"] = "0" };

    private readonly List<ProcessRunner> _agents = [];
    private readonly FaultNetwork _network;
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-faults-").FullName;
    private PostgresProcess _postgres = null!;
    private Relay _databaseWay = null!;
    private Relay _agentWay = null!;
    private ProcessRunner _backend = null!;
    private IPEndPoint _backendAddress = null!;

    private FaultCluster(FaultNetwork network) => _network = network;

    /// <summary>Where everything is.</summary>
    public FaultNetwork Network => _network;

    /// <summary>The database.</summary>
    public PostgresProcess Postgres => _postgres;

    /// <summary>The way from the nodes to the database.</summary>
    public Relay DatabaseWay => _databaseWay;

    /// <summary>e1, e2 and e3.</summary>
    public IReadOnlyList<FaultNode> Nodes { get; private set; } = [];

    /// <summary>Who is ready.</summary>
    public NodeHealth Health { get; private set; } = null!;

    /// <summary>The names that are served.</summary>
    public List<string> Names { get; } = [];

    /// <summary>The folder with the nodes' certificates.</summary>
    public string Certificates => Path.Combine(_folder, "cluster");

    /// <summary>Starts everything; each name is served when the task ends.</summary>
    /// <param name="network">Where.</param>
    /// <param name="prepare">Changes certificates or environments before the nodes start, or null.</param>
    public static async Task<FaultCluster> StartAsync(FaultNetwork network, Func<FaultCluster, Task>? prepare)
    {
        var cluster = new FaultCluster(network);
        try
        {
            await cluster.StartAsync(prepare);
            return cluster;
        }
        catch
        {
            await cluster.DisposeAsync();
            throw;
        }
    }

    /// <summary>Starts an agent process with tunnels of these names; they are ready when the task ends.</summary>
    /// <param name="names">The names.</param>
    /// <param name="service">Their service; null: the backend.</param>
    /// <param name="isElsewhere">Whether it has the place of agents of other machines: the nodes' processors are not for them.</param>
    public async Task<ProcessRunner> StartAgentAsync(IReadOnlyList<string> names, IPEndPoint? service = null, bool isElsewhere = false)
    {
        var file = Path.Combine(_folder, $"tunnels-{_agents.Count}.yml");
        await File.WriteAllLinesAsync(
            file,
            [
                $"server: {_agentWay.EndPoint}",
                "uplinks: 1",
                "tunnels:",
                .. names.Select(name => $"  - name: {name}\n    upstream: {service ?? _backendAddress}"),
            ]);
        string[] arguments = ["start", "--config", file, "--json"];
        var agent = isElsewhere
            ? ProcessRunner.Start("nice", ["-n", "10", "dotnet", BuiltPrograms.AgentPath, .. arguments], _compiledOnce, Path.GetTempPath())
            : BuiltPrograms.StartAgent(arguments);
        _agents.Add(agent);
        foreach (var name in names)
        {
            var quoted = $"\"{name}\"";
            await agent.WaitForLineAsync(
                line => line.Contains("\"ready\"", StringComparison.Ordinal) && line.Contains(quoted, StringComparison.Ordinal),
                _startLimit);
        }

        return agent;
    }

    /// <summary>Which node serves each name now, by the database.</summary>
    public async Task<IReadOnlyDictionary<string, string>> LocateAsync() =>
        (await _postgres.AskAsync(
            "select s.name, s.node from tunnel2_names s join tunnel2_nodes n on n.node = s.node and n.incarnation = s.incarnation "
                + "where s.state < 2 and n.lease_until > clock_timestamp()"))
            .Select(static row => row.Split('|')).ToDictionary(static row => row[0], static row => row[1], StringComparer.Ordinal);

    /// <summary>The last lines of all nodes that speak of trouble, for a case that failed.</summary>
    public IEnumerable<string> LastTroubles() => Nodes.SelectMany(node => node.Process.Lines
        .Where(static line => line.Contains("\"Warning\"") || line.Contains("\"Error\"") || line.Contains("warn") || line.Contains("fail"))
        .TakeLast(8).Select(line => $"{node.Id}: {line}"));

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        foreach (var agent in _agents)
        {
            await agent.DisposeAsync();
        }

        foreach (var node in Nodes)
        {
            await node.DisposeAsync();
        }

        if (Health is not null)
        {
            await Health.DisposeAsync();
        }

        foreach (var part in (IAsyncDisposable?[])[_backend, _agentWay, _databaseWay, _postgres])
        {
            if (part is not null)
            {
                await part.DisposeAsync();
            }
        }

        Directory.Delete(_folder, recursive: true);
    }

    private async Task StartAsync(Func<FaultCluster, Task>? prepare)
    {
        const string Listening = "Listening on http://";
        _postgres = await PostgresProcess.StartAsync();
        _databaseWay = new Relay(_network.DatabaseAddress, () => [_postgres.EndPoint]);
        await Tool.RunAsync(
            "dotnet", BuiltPrograms.EntryPath, "cluster", "init", "--node", "e1,e2,e3", "--out", Certificates);
        Nodes =
        [
            .. Enumerable.Range(1, 3).Select(number => new FaultNode(
                string.Create(CultureInfo.InvariantCulture, $"e{number}"), _network,
                PostgresProcess.ConnectionString(_databaseWay.EndPoint), Certificates)),
        ];
        if (prepare is not null)
        {
            await prepare(this);
        }

        _backend = BuiltPrograms.StartBackend("--listen", "127.0.0.1:0", "--engine", "event-loop");
        var line = await _backend.WaitForLineAsync(static line => line.StartsWith(Listening, StringComparison.Ordinal), _startLimit);
        _backendAddress = IPEndPoint.Parse(line[Listening.Length..].TrimEnd('/'));
        foreach (var node in Nodes)
        {
            await node.StartAsync();
        }

        Health = new NodeHealth(Nodes);
        await Health.AllReadyAsync(_startLimit);
        _agentWay = new Relay(
            IPAddress.Loopback, () => [.. Health.InTurn().Select(static node => node.Uplink)],
            _network.CanCut ? _network.AgentAddress : null);
        for (var number = 1; number <= 3; number++)
        {
            var names = Enumerable.Range(0, 2).Select(i => string.Create(CultureInfo.InvariantCulture, $"w{number}{i}")).ToArray();
            await StartAgentAsync(names);
            Names.AddRange(names);
        }
    }
}
