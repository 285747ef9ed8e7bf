using System.Globalization;
using System.Text.Json.Nodes;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Reload;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// <c>tunnel2-entry cluster nodes</c>, <c>status</c> and <c>drain</c>: what the database of the cluster knows, and taking a node out of
/// service through it. They read the same settings as the server, and need no running one.
/// </summary>
internal static class ClusterNodesCommand
{
    private const int ExitFailed = 1;
    private const string Undo = "--undo";

    /// <summary>A process that was just started needs longer for its first call than a server.</summary>
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(5);

    public static bool IsMeant(string[] args) => args is ["cluster", "nodes" or "status" or "drain", ..];

    /// <summary>Runs the command.</summary>
    /// <returns>
    /// 0; 1 when the database does not answer, no node lives or the one to drain does not; 2 for a wrong command line or setting.
    /// </returns>
    public static async Task<int> RunAsync(string[] args, TextWriter output, TextWriter error)
    {
        var rest = Array.FindAll(args[2..], IsSetting);
        var words = Array.FindAll(args[2..], static arg => !IsSetting(arg));
        var isDrain = args[1] == "drain";
        var option = isDrain ? Undo : ApiCommandLine.JsonOption;
        var hasOption = words.Contains(option);
        words = Array.FindAll(words, word => word != option);
        var wrong = !isDrain ? words.FirstOrDefault()
            : Array.Find(words, static word => word.StartsWith('-')) ?? words.ElementAtOrDefault(1);
        var mistake = wrong is not null ? EntryWords.Unknown(wrong, option)
            : isDrain && words.Length == 0 ? "'cluster drain' needs a node after it; 'cluster nodes' shows them"
            : null;
        if (mistake is not null)
        {
            await error.WriteLineAsync($"tunnel2-entry: {mistake}").ConfigureAwait(false);
            await error.WriteLineAsync(EntryHelp.ClusterNodesUsage).ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        SettingsLoadResult loaded;
        try
        {
            loaded = SettingsLoader.Load(SettingsSource.OfProcess(rest).Read());
        }
        catch (Exception exception) when (exception is InvalidDataException or IOException or UnauthorizedAccessException)
        {
            await error.WriteLineAsync($"tunnel2-entry: {exception.Message}").ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        if (!loaded.IsValid)
        {
            await error.WriteAsync(SettingsErrorFormatter.Format(loaded.Errors)).ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        if (loaded.Settings.Cluster.Database is not { } database)
        {
            await error.WriteLineAsync("tunnel2-entry: Tunnel2:Cluster:Database is not set: this server is alone").ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        try
        {
            var store = new PostgresStore(database, NullLogger<PostgresStore>.Instance, _patience);
            await using (store.ConfigureAwait(false))
            {
                if (isDrain)
                {
                    return await DrainAsync(store, words[0], !hasOption, output, error).ConfigureAwait(false);
                }

                var nodes = Shown(await store.ListNodesAsync(CancellationToken.None).ConfigureAwait(false));
                if (await store.IsReadOnlyAsync(CancellationToken.None).ConfigureAwait(false))
                {
                    await error.WriteLineAsync(
                        "tunnel2-entry: the database takes no changes: no node can renew its lease, and a node that is lost may serve")
                        .ConfigureAwait(false);
                }

                return args[1] == "nodes" ? ShowNodes(nodes, hasOption, output) : ShowStatus(nodes, hasOption, output);
            }
        }
        catch (StoreUnavailableException exception)
        {
            await error.WriteLineAsync($"tunnel2-entry: the cluster's database is not available: {exception.Reason}").ConfigureAwait(false);
            return ExitFailed;
        }
        catch (IOException exception)
        {
            // The setting is no connection string.
            await error.WriteLineAsync($"tunnel2-entry: {exception.Message}").ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }
    }

    private static bool IsSetting(string arg) =>
        arg.StartsWith("--Tunnel2:", StringComparison.OrdinalIgnoreCase) && arg.Contains('=', StringComparison.Ordinal);

    private static async Task<int> DrainAsync(PostgresStore store, string node, bool isDrained, TextWriter output, TextWriter error)
    {
        if (!await store.SetDrainedAsync(node, isDrained, CancellationToken.None).ConfigureAwait(false))
        {
            await error.WriteLineAsync($"tunnel2-entry: no node '{node}' is up; 'cluster nodes' shows those that are")
                .ConfigureAwait(false);
            return ExitFailed;
        }

        await output.WriteLineAsync(isDrained
            ? $"node {node} is asked to leave service; its agents go to other nodes, and 'cluster nodes' shows how many names it has"
            : $"node {node} is in service again").ConfigureAwait(false);
        return 0;
    }

    /// <summary>Those that live, and those that were lost a while ago. The database keeps others for a day.</summary>
    internal static IReadOnlyList<NodeStatus> Shown(IReadOnlyList<NodeStatus> nodes) =>
        [.. nodes.Where(static node => node.LeaseLeft > -LostNode.ShownFor)];

    /// <summary>Writes a line for each node.</summary>
    internal static int ShowNodes(IReadOnlyList<NodeStatus> nodes, bool isJson, TextWriter output)
    {
        if (isJson)
        {
            output.WriteLine(new JsonArray([.. nodes.Select(static node => new JsonObject
            {
                ["node"] = node.Node,
                ["state"] = State(node),
                ["leaseSeconds"] = Math.Round(node.LeaseLeft.TotalSeconds, 1),
                ["names"] = node.Names,
                ["link"] = node.LinkAddress is "" ? null : node.LinkAddress,
                ["version"] = node.Version,
            })]).ToJsonString());
            return 0;
        }

        TextTable.Write(output, ["NODE", "STATE", "LEASE", "NAMES", "LINK", "VERSION"], nodes.Select(static node => new[]
        {
            node.Node,
            State(node),
            node.LeaseLeft > TimeSpan.Zero
                ? string.Create(CultureInfo.InvariantCulture, $"{node.LeaseLeft.TotalSeconds:0.0} s left")
                : string.Create(CultureInfo.InvariantCulture, $"over for {-node.LeaseLeft.TotalSeconds:0} s"),
            node.Names.ToString(CultureInfo.InvariantCulture),
            node.LinkAddress is "" ? "-" : node.LinkAddress,
            node.Version,
        }));
        return 0;
    }

    /// <summary>Writes what the nodes are all together.</summary>
    internal static int ShowStatus(IReadOnlyList<NodeStatus> nodes, bool isJson, TextWriter output)
    {
        var up = nodes.Where(static node => node.LeaseLeft > TimeSpan.Zero).ToList();
        var (lost, names) = (nodes.Count - up.Count, up.Sum(static node => node.Names));
        output.WriteLine(isJson
            ? new JsonObject { ["up"] = up.Count, ["lost"] = lost, ["names"] = names }.ToJsonString()
            : string.Create(CultureInfo.InvariantCulture, $"{up.Count} nodes are up and serve {names} names; {lost} are lost"));
        return up.Count > 0 ? 0 : ExitFailed;
    }

    private static string State(NodeStatus node) => node.LeaseLeft <= TimeSpan.Zero ? "lost" : node.IsDrained ? "drained" : "up";
}
