using System.Globalization;
using System.Net;

namespace Tunnel2.ClusterFaults.Networks;

/// <summary>
/// A bridge in this process's own network namespace, and a namespace for each node, with a packet filter in it. It runs inside of
/// <c>unshare --net --mount</c>, so nothing of it is seen from outside, and it is gone when the last process of it has ended.
/// </summary>
internal sealed class NamespaceNetwork : FaultNetwork
{
    private const string Bridge = "faults0";
    private const int FirstPort = 12000;

    private readonly Dictionary<string, int> _ports = [];
    private readonly List<string> _nodes = [];

    private NamespaceNetwork()
    {
    }

    /// <inheritdoc/>
    public override bool CanCut => true;

    /// <inheritdoc/>
    public override IPAddress DatabaseAddress { get; } = IPAddress.Parse("10.77.0.20");

    /// <inheritdoc/>
    public override IPAddress AgentAddress { get; } = IPAddress.Parse("10.77.0.30");

    /// <summary>Makes it.</summary>
    /// <exception cref="FaultSuiteException">It is not allowed here, or a tool is missing.</exception>
    public static async Task<NamespaceNetwork> CreateAsync(IEnumerable<string> nodes)
    {
        var network = new NamespaceNetwork();
        if ((await Tool.RunAsync("ip", "-o", "link")).Contains("eth", StringComparison.Ordinal))
        {
            throw new FaultSuiteException("this is not a network namespace of its own; start load-tests/cluster-faults/run.sh");
        }

        Directory.CreateDirectory("/run/netns");
        await Tool.RunAsync("mount", "-t", "tmpfs", "tmpfs", "/run/netns");
        await Tool.RunAsync("ip", "link", "set", "lo", "up");
        await Tool.RunAsync("ip", "link", "add", Bridge, "type", "bridge");
        await Tool.RunAsync("ip", "link", "set", Bridge, "up");
        foreach (var address in (string[])["10.77.0.1", "10.77.0.20", "10.77.0.30"])
        {
            await Tool.RunAsync("ip", "address", "add", $"{address}/24", "dev", Bridge);
        }

        foreach (var node in nodes)
        {
            await network.AddAsync(node);
        }

        return network;
    }

    /// <inheritdoc/>
    public override IPAddress AddressOf(string node) => IPAddress.Parse($"10.77.0.1{node[1..]}");

    /// <inheritdoc/>
    public override int PortAt(string node) => _ports[node] = _ports.GetValueOrDefault(node, FirstPort) + 1;

    /// <inheritdoc/>
    public override IReadOnlyList<string> PrefixOf(string node) => ["nsenter", $"--net=/run/netns/{node}"];

    /// <inheritdoc/>
    public override async Task CutAsync(string from, string to)
    {
        if (_nodes.Contains(from))
        {
            await InAsync(from, "nft", "add", "rule", "inet", "faults", "out", "ip", "daddr", Address(to), "drop");
        }
        else
        {
            await InAsync(to, "nft", "add", "rule", "inet", "faults", "in", "ip", "saddr", Address(from), "drop");
        }
    }

    /// <inheritdoc/>
    public override async Task HealAsync()
    {
        foreach (var node in _nodes)
        {
            await InAsync(node, "nft", "flush", "table", "inet", "faults");
        }
    }

    /// <inheritdoc/>
    public override async ValueTask DisposeAsync()
    {
        foreach (var node in _nodes)
        {
            await Tool.TryAsync("ip", "netns", "del", node);
        }
    }

    private static Task<string> InAsync(string node, string program, params string[] arguments) =>
        Tool.RunAsync("nsenter", [$"--net=/run/netns/{node}", program, .. arguments]);

    private string Address(string who) => (who switch
    {
        Database => DatabaseAddress,
        Agents => AgentAddress,
        _ => AddressOf(who),
    }).ToString();

    private async Task AddAsync(string node)
    {
        var link = $"link-{node}".ToString(CultureInfo.InvariantCulture);
        await Tool.RunAsync("ip", "netns", "add", node);
        _nodes.Add(node);
        await Tool.RunAsync("ip", "link", "add", link, "type", "veth", "peer", "name", "net0", "netns", node);
        await Tool.RunAsync("ip", "link", "set", link, "master", Bridge, "up");
        await InAsync(node, "ip", "link", "set", "lo", "up");
        await InAsync(node, "ip", "address", "add", $"{AddressOf(node)}/24", "dev", "net0");
        await InAsync(node, "ip", "link", "set", "net0", "up");
        await InAsync(node, "nft", "add table inet faults; add chain inet faults in { type filter hook input priority 0; }; "
            + "add chain inet faults out { type filter hook output priority 0; }");
    }
}
