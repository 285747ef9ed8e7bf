using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using Tunnel2.ClusterFaults.Cluster;
using Tunnel2.ClusterFaults.Visitors;
using Tunnel2.TestUtilities;

namespace Tunnel2.ClusterFaults.Cases;

/// <summary>What happens to nodes as processes.</summary>
internal static class NodeCases
{
    private const string FakeTime = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

    private static readonly TimeSpan _startPhase = TimeSpan.FromSeconds(32);

    /// <summary>Why clocks cannot be set.</summary>
    public static string? NoFakeTime(FaultOptions options) =>
        File.Exists(FakeTime) ? null : "Debian's package libfaketime is not installed";

    /// <summary>e1 an hour early, e2 an hour late.</summary>
    public static Task SetClocksAsync(FaultCluster cluster, FaultOptions options)
    {
        foreach (var (node, offset) in cluster.Nodes.Zip((string[])["+3600", "-3600"]))
        {
            node.Environment["LD_PRELOAD"] = FakeTime;
            node.Environment["FAKETIME"] = offset;
            node.Environment["FAKETIME_DONT_FAKE_MONOTONIC"] = "1";
        }

        return Task.CompletedTask;
    }

    public static async Task RollingAsync(CaseRun run)
    {
        var pages = run.Cluster.Names.Select(name => new WebSocketVisitor(run.Cluster, name)).ToArray();
        await CaseRun.PassAsync(2);
        var restarts = 0;
        for (var end = run.Load.Elapsed + run.Duration; run.Load.Elapsed < end || restarts < run.Cluster.Nodes.Count;)
        {
            await RestartAsync(run, run.Cluster.Nodes[restarts++ % run.Cluster.Nodes.Count]);
            await CaseRun.PassAsync(1);
        }

        await JudgeAsync(run, pages);
        CaseRun.Say($"{restarts} restarts");
    }

    /// <summary>Why nothing can be updated.</summary>
    public static string? NoOlder(FaultOptions options) => options.Older is null ? "it needs --older" : null;

    /// <summary>All nodes are of the older release.</summary>
    public static Task SetOlderAsync(FaultCluster cluster, FaultOptions options)
    {
        foreach (var node in cluster.Nodes)
        {
            node.Program = options.Older!;
        }

        return Task.CompletedTask;
    }

    /// <summary>
    /// Each node in turn is stopped and started as one of this release. Then one goes back to the older release, and comes again.
    /// </summary>
    public static async Task UpgradeAsync(CaseRun run)
    {
        var pages = run.Cluster.Names.Select(name => new WebSocketVisitor(run.Cluster, name)).ToArray();
        await CaseRun.PassAsync(2);
        foreach (var node in run.Cluster.Nodes)
        {
            await ChangeAsync(run, node, BuiltPrograms.EntryPath);
        }

        await ChangeAsync(run, run.Victim, run.Options.Older!);
        await ChangeAsync(run, run.Victim, BuiltPrograms.EntryPath);
        await JudgeAsync(run, pages);
        var versions = await run.Cluster.Postgres.AskAsync(
            "select node, version from tunnel2_nodes where lease_until > clock_timestamp() order by node");
        CaseRun.Say($"nodes at the end: {string.Join(", ", versions)}");
    }

    public static async Task DrainAsync(CaseRun run)
    {
        var pages = run.Cluster.Names.Select(name => new WebSocketVisitor(run.Cluster, name)).ToArray();
        await CaseRun.PassAsync(_startPhase);
        var (code, output, error) = await run.Victim.CommandAsync("cluster", "drain", run.Victim.Id);
        var drained = run.Load.Elapsed;
        CaseRun.Say($"{output.Trim()}{error.Trim()}");
        var left = TimeSpan.Zero;
        while (left == TimeSpan.Zero && run.Load.Elapsed < drained + TimeSpan.FromSeconds(30))
        {
            left = (await run.Cluster.LocateAsync()).Values.Contains(run.Victim.Id) ? TimeSpan.Zero : run.Load.Elapsed - drained;
            await CaseRun.PassAsync(0.1);
        }

        run.Expect(
            code == 0 && left > TimeSpan.Zero && left < TimeSpan.FromSeconds(5), "its names serve elsewhere within 5 s",
            string.Create(CultureInfo.InvariantCulture, $"after {left.TotalSeconds:0.0} s"));
        run.Expect(!run.Cluster.Health.IsReady(run.Victim), "it is not ready", run.Cluster.Health.AnswerOf(run.Victim));
        (_, output, _) = await run.Victim.CommandAsync("cluster", "nodes");
        run.Expect(output.Contains("drained", StringComparison.Ordinal), "'cluster nodes' shows it", output.Split('\n')[1]);
        await CaseRun.PassAsync(run.Duration);
        await run.Victim.CommandAsync("cluster", "drain", run.Victim.Id, "--undo");
        await run.Cluster.Health.AllReadyAsync(TimeSpan.FromSeconds(5));
        await CaseRun.PassAsync(2);
        await JudgeAsync(run, pages);
    }

    public static async Task KillAsync(CaseRun run)
    {
        // In its first half minute a node has requests wait for any name.
        await CaseRun.PassAsync(_startPhase);
        var places = await run.Cluster.LocateAsync();
        var dead = places.Where(place => place.Value == run.Victim.Id).Select(static place => place.Key).ToHashSet();
        var killed = run.Load.Elapsed;
        run.Victim.Process.Kill();
        await CaseRun.PassAsync(run.Duration);
        var results = await run.EndLoadAsync();
        CaseRun.Say($"killed {run.Victim.Id} with {string.Join(' ', dead.Order(StringComparer.Ordinal))}");
        run.ExpectOnly(
            results, "only what was under way at the node or with its agents failed",
            result => result.Started < killed + TimeSpan.FromSeconds(0.1) && result.Ended >= killed
                && (result.Node == run.Victim.Id || dead.Contains(result.Name)));
        run.ExpectServedWithin(results, killed, TimeSpan.FromSeconds(5), dead, "its names serve elsewhere");
    }

    public static async Task PauseAsync(CaseRun run)
    {
        // Two services and two agents for one name: the second agent gets it while node and first agent are stopped.
        await using var before = new MarkedService("before");
        await using var after = new MarkedService("after");
        string name;
        ProcessRunner first;
        for (var i = 0; ; i++)
        {
            name = string.Create(CultureInfo.InvariantCulture, $"moved{i}");
            first = await run.Cluster.StartAgentAsync([name], before.EndPoint);
            if ((await run.Cluster.LocateAsync())[name] == run.Victim.Id)
            {
                break;
            }
        }

        await CaseRun.PassAsync(2);
        var paused = run.Load.Elapsed;
        var places = await run.Cluster.LocateAsync();
        var stopped = places.Where(place => place.Value == run.Victim.Id).Select(static place => place.Key)
            .Where(run.Cluster.Names.Contains).ToArray();
        run.Victim.Process.Suspend();
        first.Suspend();
        await CaseRun.PassAsync(12);
        await run.Cluster.StartAgentAsync([name], after.EndPoint);
        await CaseRun.PassAsync(TimeSpan.FromSeconds(Math.Max(0, run.Duration.TotalSeconds - 12)));
        using var asking = new CancellationTokenSource();
        var answers = Task.Run(() => AskAsync(run.Victim.Public, name, asking.Token));
        await CaseRun.PassAsync(0.2);
        var resumed = run.Load.Elapsed;
        first.Resume();
        run.Victim.Process.Resume();
        await CaseRun.PassAsync(10);
        await asking.CancelAsync();
        var seen = await answers;
        var results = await run.EndLoadAsync();
        run.Expect(
            seen.GetValueOrDefault("before") == 0 && seen.GetValueOrDefault("after") > 0,
            "after the pause it serves the name's new session only",
            string.Join(", ", seen.Select(static one => $"{one.Value} × {one.Key}")));
        run.ExpectServedWithin(results, paused, TimeSpan.FromSeconds(25), stopped, "names of the node serve elsewhere");
        run.ExpectOnly(
            results, "only requests through the node, and for its names before they serve elsewhere, failed",
            result => (result.Node == run.Victim.Id && result.Started < resumed + TimeSpan.FromSeconds(1))
                || (stopped.Contains(result.Name) && result.Started < paused + TimeSpan.FromSeconds(25)));
    }

    public static async Task ClockAsync(CaseRun run)
    {
        CaseRun.Say($"the first line of {run.Victim.Id}: {(run.Victim.Process.Lines is [var line, ..] ? line : "none")}");
        await CaseRun.PassAsync(2);
        await RestartAsync(run, run.Cluster.Nodes[0]);
        await RestartAsync(run, run.Cluster.Nodes[1]);
        await CaseRun.PassAsync(run.Duration);
        run.ExpectNoneFailed(await run.EndLoadAsync());
        var nodes = await run.Cluster.Postgres.AskAsync("select node from tunnel2_nodes where lease_until > clock_timestamp()");
        run.Expect(nodes.Count == 3, "all nodes have their lease", $"{nodes.Count} of 3");
    }

    private static async Task JudgeAsync(CaseRun run, WebSocketVisitor[] pages)
    {
        foreach (var page in pages)
        {
            await page.DisposeAsync();
        }

        run.ExpectNoneFailed(await run.EndLoadAsync());
        var ends = pages.SelectMany(static page => page.Ends).GroupBy(static end => end).ToDictionary(
            static end => end.Key, static end => end.Count());
        var gap = pages.Max(static page => page.LongestGap);
        run.Expect(
            ends.Count > 0 && ends.Keys.All(static end => end == "1001"), "every WebSocket that ended got 1001",
            string.Join(", ", ends.Select(static end => $"{end.Value} × {end.Key}")));
        run.Expect(gap < TimeSpan.FromSeconds(5), "WebSockets return within 5 s", string.Create(
            CultureInfo.InvariantCulture, $"longest time without {gap.TotalSeconds:0.00} s"));
    }

    /// <summary>Lets a node run for a while as another release, with what the others do at that time.</summary>
    private static async Task ChangeAsync(CaseRun run, FaultNode node, string program)
    {
        node.Program = program;
        await RestartAsync(run, node);
        CaseRun.Say($"{node.Id} is of {(program == BuiltPrograms.EntryPath ? "this" : "the older")} release");
        await CaseRun.PassAsync(run.Duration / 5);
    }

    private static async Task RestartAsync(CaseRun run, FaultNode node)
    {
        node.Process.Terminate();
        var code = await node.Process.WaitForExitAsync(TimeSpan.FromSeconds(60));
        if (code != 0)
        {
            run.Expect(false, $"{node.Id} ends in order", $"exit code {code}");
        }

        await node.StartAsync();
        await run.Cluster.Health.AllReadyAsync(TimeSpan.FromSeconds(30));
    }

    /// <summary>Asks a node for a name again and again.</summary>
    /// <returns>How often each answer came.</returns>
    private static async Task<Dictionary<string, int>> AskAsync(IPEndPoint node, string name, CancellationToken stop)
    {
        var seen = new Dictionary<string, int>(StringComparer.Ordinal);
        while (!stop.IsCancellationRequested)
        {
            string answer;
            try
            {
                await using var connection = await RawHttpClient.ConnectAsync(node, cancellationToken: stop);
                var (head, body) = await connection.ExchangeAsync(
                    "/", $"{name}.localhost", fields: "Connection: close\r\n", cancellationToken: stop);
                answer = head.StatusCode == 200 ? body.Text : string.Create(CultureInfo.InvariantCulture, $"{head.StatusCode}");
            }
            catch (Exception exception) when (exception is IOException or SocketException)
            {
                answer = "broken";
            }
            catch (OperationCanceledException)
            {
                break;
            }

            seen[answer] = seen.GetValueOrDefault(answer) + 1;
        }

        return seen;
    }

    /// <summary>A service that says which one it is.</summary>
    private sealed class MarkedService : IAsyncDisposable
    {
        private readonly RawTcpServer _server;

        public MarkedService(string mark) => _server = RawTcpServer.Start(async connection =>
        {
            await connection.ReadThroughAsync("\r\n\r\n");
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {Encoding.ASCII.GetByteCount(mark)}\r\n"
                + $"Connection: close\r\n\r\n{mark}");
        });

        public IPEndPoint EndPoint => new(IPAddress.Loopback, _server.Port);

        public ValueTask DisposeAsync() => _server.DisposeAsync();
    }
}
