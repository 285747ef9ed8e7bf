using System.Globalization;

namespace Tunnel2.ClusterFaults.Cases;

/// <summary>A node with a third of very many sessions dies.</summary>
internal static class StormCase
{
    private const int Each = 100;

    private static readonly TimeSpan _look = TimeSpan.FromSeconds(0.25);

    public static async Task RunAsync(CaseRun run)
    {
        var started = 0;
        while (started < run.Options.Agents)
        {
            var count = Math.Min(Each, run.Options.Agents - started);
            await run.Cluster.StartAgentAsync([.. Enumerable.Range(started, count).Select(NameOf)], isElsewhere: true);
            started += count;
        }

        // The looks at the database cost something too: they are the same before and after.
        var from = run.Load.Elapsed;
        var places = await run.Cluster.LocateAsync();
        while (run.Load.Elapsed < from + TimeSpan.FromSeconds(5))
        {
            await CaseRun.PassAsync(_look);
            places = await run.Cluster.LocateAsync();
        }

        var others = run.Cluster.Names.Where(name => places[name] != run.Victim.Id).ToHashSet();
        var all = places.Count;
        var lost = places.Values.Count(node => node == run.Victim.Id);
        var killed = run.Load.Elapsed;
        run.Victim.Process.Kill();
        var back = TimeSpan.Zero;
        while (run.Load.Elapsed < killed + (back == TimeSpan.Zero ? TimeSpan.FromSeconds(60) : run.Duration))
        {
            await CaseRun.PassAsync(_look);
            var now = await run.Cluster.LocateAsync();
            if (back == TimeSpan.Zero && now.Count == all && now.Values.All(node => node != run.Victim.Id))
            {
                back = run.Load.Elapsed - killed;
            }
        }

        var results = await run.EndLoadAsync();
        run.Expect(
            back > TimeSpan.Zero && back <= TimeSpan.FromSeconds(10), $"all {lost} sessions of the node are back within 10 s",
            back > TimeSpan.Zero ? string.Create(CultureInfo.InvariantCulture, $"after {back.TotalSeconds:0.0} s") : "not within 60 s");
        var (before, during) = (P99(from, killed), P99(killed, killed + TimeSpan.FromSeconds(10)));
        run.Expect(during < 2 * before, "p99 of the other names less than twice as long", string.Create(
            CultureInfo.InvariantCulture,
            $"{before.TotalMilliseconds:0.0} ms before, {during.TotalMilliseconds:0.0} ms in the 10 s after"));
        run.ExpectOnly(results, "no request for another name through another node failed", result =>
            !others.Contains(result.Name) || result.Node == run.Victim.Id);

        TimeSpan P99(TimeSpan begin, TimeSpan end) => CaseRun.Percentile(
            results.Where(result =>
                others.Contains(result.Name) && result.Node != run.Victim.Id && result.Started >= begin && result.Started < end),
            0.99);
    }

    private static string NameOf(int number) => string.Create(CultureInfo.InvariantCulture, $"many{number:0000}");
}
