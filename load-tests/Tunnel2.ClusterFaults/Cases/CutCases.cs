using System.Globalization;
using Tunnel2.ClusterFaults.Networks;
using Tunnel2.ClusterFaults.Visitors;

namespace Tunnel2.ClusterFaults.Cases;

/// <summary>A packet filter drops what goes between two of them.</summary>
internal static class CutCases
{
    private static readonly TimeSpan _back = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan _moved = TimeSpan.FromSeconds(25);

    public static Task NodesAsync(CaseRun run) => NodesAsync(run, network => network.CutBothAsync("e1", "e2"));

    public static Task NodesOneWayAsync(CaseRun run) => NodesAsync(run, network => network.CutAsync("e1", "e2"));

    public static Task DatabaseAsync(CaseRun run) => DatabaseAsync(run, network => network.CutBothAsync("e1", FaultNetwork.Database));

    public static Task DatabaseOneWayAsync(CaseRun run) => DatabaseAsync(run, network => network.CutAsync(FaultNetwork.Database, "e1"));

    public static Task AgentsAsync(CaseRun run) => AgentsAsync(run, network => network.CutBothAsync("e1", FaultNetwork.Agents));

    public static Task AgentsOneWayAsync(CaseRun run) => AgentsAsync(run, network => network.CutAsync(FaultNetwork.Agents, "e1"));

    public static async Task AllAsync(CaseRun run)
    {
        await CaseRun.PassAsync(3);
        var mine = await NamesOfVictimAsync(run);
        var cut = run.Load.Elapsed;
        foreach (var other in (string[])["e2", "e3", FaultNetwork.Database, FaultNetwork.Agents])
        {
            await run.Cluster.Network.CutBothAsync("e1", other);
        }

        await CaseRun.PassAsync(20);
        var said = run.Cluster.Health.AnswerOf(run.Victim);
        run.Expect(!run.Cluster.Health.IsReady(run.Victim), "the node says within 20 s that it is not ready", $"'{said}'");
        await CaseRun.PassAsync(TimeSpan.FromSeconds(Math.Max(5, run.Duration.TotalSeconds - 20)));
        await run.Cluster.Network.HealAsync();
        var healed = run.Load.Elapsed;
        await run.Cluster.Health.AllReadyAsync(TimeSpan.FromSeconds(20));
        await CaseRun.PassAsync(10);
        var results = await run.EndLoadAsync();
        run.ExpectServedWithin(results, cut, _moved, mine, "its names serve elsewhere");
        run.ExpectOnly(
            results, "only requests through the node, and for its names before they serve elsewhere, failed",
            result => (result.Node == "e1" && result.Started < healed + _back)
                || (mine.Contains(result.Name) && result.Started < cut + _moved));
    }

    private static async Task NodesAsync(CaseRun run, Func<FaultNetwork, Task> cut)
    {
        await CaseRun.PassAsync(3);
        await cut(run.Cluster.Network);
        var places = await run.Cluster.LocateAsync();
        await CaseRun.PassAsync(run.Duration);
        await run.Cluster.Network.HealAsync();
        var healed = run.Load.Elapsed;
        await CaseRun.PassAsync(10);
        var results = await run.EndLoadAsync();
        run.ExpectOnly(
            results, "only requests from one of them to the other failed, until 5 s after",
            result => IsBetween(result.Node, places[result.Name]) && result.Started < healed + _back);
        Longest(results);

        static bool IsBetween(string from, string to) => (from, to) is ("e1", "e2") or ("e2", "e1");
    }

    private static async Task DatabaseAsync(CaseRun run, Func<FaultNetwork, Task> cut)
    {
        await CaseRun.PassAsync(3);
        await cut(run.Cluster.Network);
        await CaseRun.PassAsync(run.Duration);
        run.Expect(run.Cluster.Health.IsReady(run.Victim), "the node stays ready", $"'{run.Cluster.Health.AnswerOf(run.Victim)}'");
        await run.Cluster.Network.HealAsync();
        await CaseRun.PassAsync(12);
        run.ExpectNoneFailed(await run.EndLoadAsync());
        var places = await run.Cluster.LocateAsync();
        run.Expect(
            run.Cluster.Names.TrueForAll(places.ContainsKey), "12 s later the database knows every name again",
            string.Create(CultureInfo.InvariantCulture, $"{places.Count} of {run.Cluster.Names.Count}"));
    }

    private static async Task AgentsAsync(CaseRun run, Func<FaultNetwork, Task> cut)
    {
        await CaseRun.PassAsync(3);
        var mine = await NamesOfVictimAsync(run);
        var begin = run.Load.Elapsed;
        await cut(run.Cluster.Network);
        await CaseRun.PassAsync(run.Duration);
        await run.Cluster.Network.HealAsync();
        await CaseRun.PassAsync(5);
        var results = await run.EndLoadAsync();
        run.ExpectServedWithin(results, begin, _moved, mine, "its names serve elsewhere");
        run.ExpectOnly(
            results, "only requests for its names failed, before they serve elsewhere",
            result => mine.Contains(result.Name) && result.Started < begin + _moved);
        Longest(results);
    }

    private static async Task<HashSet<string>> NamesOfVictimAsync(CaseRun run) =>
        [.. (await run.Cluster.LocateAsync()).Where(place => place.Value == run.Victim.Id).Select(static place => place.Key)];

    private static void Longest(IReadOnlyList<VisitResult> results)
    {
        var longest = results.Max(static result => result.Took);
        CaseRun.Say(string.Create(CultureInfo.InvariantCulture, $"the longest request took {longest.TotalSeconds:0.0} s"));
    }
}
