using System.Globalization;
using Tunnel2.ClusterFaults.Cluster;
using Tunnel2.ClusterFaults.Visitors;

namespace Tunnel2.ClusterFaults.Cases;

/// <summary>A case that runs: its cluster under load, and what was found.</summary>
internal sealed class CaseRun(FaultCluster cluster, VisitorLoad load, FaultOptions options, TimeSpan duration)
{
    private readonly List<string> _broken = [];

    /// <summary>The cluster.</summary>
    public FaultCluster Cluster { get; } = cluster;

    /// <summary>The requests.</summary>
    public VisitorLoad Load { get; private set; } = load;

    /// <summary>The command line.</summary>
    public FaultOptions Options { get; } = options;

    /// <summary>How long the fault lasts.</summary>
    public TimeSpan Duration { get; } = duration;

    /// <summary>The promises that do not hold.</summary>
    public IReadOnlyList<string> Broken => _broken;

    /// <summary>e1, to which most happens.</summary>
    public FaultNode Victim => Cluster.Nodes[0];

    /// <summary>Lets time pass in which the load continues.</summary>
    public static Task PassAsync(TimeSpan time) => Task.Delay(time);

    /// <summary>The same.</summary>
    public static Task PassAsync(double seconds) => Task.Delay(TimeSpan.FromSeconds(seconds));

    /// <summary>Says something.</summary>
    public static void Say(string line) => Console.WriteLine($"    {line}");

    /// <summary>Judges a promise.</summary>
    public void Expect(bool holds, string promise, string found)
    {
        Say($"{(holds ? "held  " : "BROKEN")} {promise}: {found}");
        if (!holds)
        {
            _broken.Add(promise);
        }
    }

    /// <summary>Ends the load, and prints what failed and for how long.</summary>
    public async Task<IReadOnlyList<VisitResult>> EndLoadAsync()
    {
        var results = await Load.StopAsync();
        var failed = results.Where(static result => result.Problem is not null).ToArray();
        Say(string.Create(
            CultureInfo.InvariantCulture,
            $"{results.Count} requests, {failed.Length} failed, {Load.PassedOn} connections passed on to the next node"));
        foreach (var kind in failed.GroupBy(static result => (result.Problem, result.Node)).OrderByDescending(static kind => kind.Count())
            .Take(12))
        {
            var names = kind.Select(static one => one.Name).Distinct().Order(StringComparer.Ordinal).Take(6);
            Say(string.Create(
                CultureInfo.InvariantCulture,
                $"{kind.Count(),6} × '{kind.Key.Problem}' through {kind.Key.Node}, names {string.Join(' ', names)}, due from "
                    + $"{kind.Min(static one => one.Started).TotalSeconds:0.0} s to "
                    + $"{kind.Max(static one => one.Started).TotalSeconds:0.0} s"));
        }

        return results;
    }

    /// <summary>Promises that nothing failed and nothing was cut.</summary>
    public void ExpectNoneFailed(IReadOnlyList<VisitResult> results)
    {
        var failed = results.Count(static result => result.Problem is not null);
        Expect(failed == 0, "0 failed", failed.ToString(CultureInfo.InvariantCulture));
        var truncated = results.Count(static result => result.IsTruncated);
        Expect(truncated == 0, "0 truncated", truncated.ToString(CultureInfo.InvariantCulture));
    }

    /// <summary>Promises that nothing failed that a rule does not explain.</summary>
    public void ExpectOnly(IReadOnlyList<VisitResult> results, string promise, Func<VisitResult, bool> explains)
    {
        var others = results.Where(result => result.Problem is not null && !explains(result)).ToArray();
        Expect(others.Length == 0, promise, others.Length == 0 ? "no other failed" : $"{others.Length} others, such as "
            + string.Join("; ", others.Take(3).Select(static one => string.Create(
                CultureInfo.InvariantCulture,
                $"{one.Name} through {one.Node} due at {one.Started.TotalSeconds:0.00} s, ended {one.Ended.TotalSeconds:0.00} s: "
                    + $"{one.Problem}"))));
    }

    /// <summary>
    /// Promises that each name is served soon after a moment: its first right answer to a request that was due after the moment has come
    /// within the limit.
    /// </summary>
    public void ExpectServedWithin(
        IReadOnlyList<VisitResult> results, TimeSpan from, TimeSpan limit, IReadOnlyCollection<string> names, string what)
    {
        var times = names.Select(name => (Name: name, Time: results
            .Where(result => result.Name == name && result.Problem is null && result.Started >= from)
            .Select(result => result.Ended - from).DefaultIfEmpty(TimeSpan.MaxValue).Min())).ToArray();
        var worst = times.DefaultIfEmpty((Name: "-", Time: TimeSpan.Zero)).MaxBy(static one => one.Time);
        Expect(worst.Time <= limit, $"{what} within {limit.TotalSeconds:0} s", worst.Time == TimeSpan.MaxValue
            ? $"{worst.Name} was never served again"
            : string.Create(CultureInfo.InvariantCulture, $"the last one, {worst.Name}, after {worst.Time.TotalSeconds:0.00} s"));
    }

    /// <summary>A percentile of how long right answers took.</summary>
    public static TimeSpan Percentile(IEnumerable<VisitResult> results, double part)
    {
        var times = results.Where(static result => result.Problem is null).Select(static result => result.Took).Order().ToArray();
        return times.Length == 0 ? TimeSpan.Zero : times[(int)((times.Length - 1) * part)];
    }
}
