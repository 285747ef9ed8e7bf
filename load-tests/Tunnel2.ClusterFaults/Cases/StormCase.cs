using System.Globalization;

namespace Tunnel2.ClusterFaults.Cases;

/// <summary>A node with a third of very many sessions dies.</summary>
internal static class StormCase
{
    private const int Each = 100;

    public static async Task RunAsync(CaseRun run)
    {
        var started = 0;
        while (started < run.Options.Agents)
        {
            var count = Math.Min(Each, run.Options.Agents - started);
            await run.Cluster.StartAgentAsync([.. Enumerable.Range(started, count).Select(NameOf)]);
            started += count;
        }

        var from = run.Load.Elapsed;
        await CaseRun.PassAsync(5);
        var places = await run.Cluster.LocateAsync();
        var others = run.Cluster.Names.Where(name => places[name] != run.Victim.Id).ToHashSet();
        var all = places.Count;
        var lost = places.Values.Count(node => node == run.Victim.Id);
        var killed = run.Load.Elapsed;
        run.Victim.Process.Kill();
        var back = TimeSpan.Zero;
        while (back == TimeSpan.Zero && run.Load.Elapsed < killed + TimeSpan.FromSeconds(60))
        {
            await CaseRun.PassAsync(0.1);
            var now = await run.Cluster.LocateAsync();
            if (now.Count == all && now.Values.All(node => node != run.Victim.Id))
            {
                back = run.Load.Elapsed - killed;
            }
        }

        await CaseRun.PassAsync(TimeSpan.FromSeconds(Math.Max(0, (run.Duration - back).TotalSeconds)));
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
