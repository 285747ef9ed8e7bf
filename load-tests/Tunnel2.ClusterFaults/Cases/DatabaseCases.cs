using System.Globalization;

namespace Tunnel2.ClusterFaults.Cases;

/// <summary>What happens to the database as a process.</summary>
internal static class DatabaseCases
{
    public static async Task SlowAsync(CaseRun run)
    {
        await CaseRun.PassAsync(2);
        run.Cluster.DatabaseWay.Delay = TimeSpan.FromSeconds(2);
        await CaseRun.PassAsync(run.Duration);
        run.Cluster.DatabaseWay.Delay = TimeSpan.Zero;
        await JudgeAsync(run);
    }

    public static async Task FrozenAsync(CaseRun run)
    {
        await CaseRun.PassAsync(2);
        run.Cluster.Postgres.Freeze();
        await CaseRun.PassAsync(run.Duration);
        run.Cluster.Postgres.Thaw();
        await JudgeAsync(run);
    }

    private static async Task JudgeAsync(CaseRun run)
    {
        var back = run.Load.Elapsed;
        await CaseRun.PassAsync(12);
        run.ExpectNoneFailed(await run.EndLoadAsync());
        var places = await run.Cluster.LocateAsync();
        run.Expect(
            run.Cluster.Names.TrueForAll(places.ContainsKey), "12 s later the database knows every name again",
            string.Create(CultureInfo.InvariantCulture, $"{places.Count} of {run.Cluster.Names.Count}, back at {back.TotalSeconds:0} s"));
    }
}
