using System.Globalization;
using Tunnel2.ClusterFaults;
using Tunnel2.ClusterFaults.Cases;
using Tunnel2.ClusterFaults.Cluster;
using Tunnel2.ClusterFaults.Networks;
using Tunnel2.ClusterFaults.Visitors;

if (FaultOptions.Parse(args) is not { } options)
{
    Console.Error.WriteLine(FaultOptions.Usage);
    return 2;
}

var broken = new List<string>();
var unmeasured = 0;
try
{
    await using FaultNetwork network = options.IsLoopback ? new LoopbackNetwork() : await NamespaceNetwork.CreateAsync(["e1", "e2", "e3"]);
    foreach (var one in FaultCases.All.Where(one => options.Cases.Count == 0 || options.Cases.Contains(one.Name)))
    {
        var missing = one.NeedsCuts && !network.CanCut ? "it needs network namespaces" : one.Missing(options);
        Console.WriteLine($"{one.Name}: {one.Promise}");
        if (missing is not null)
        {
            CaseRun.Say($"not measured: {missing}");
            unmeasured += options.Cases.Count > 0 ? 1 : 0;
            continue;
        }

        await network.HealAsync();
        await using var cluster = await FaultCluster.StartAsync(
            network, one.PrepareAsync is { } prepare ? made => prepare(made, options) : null);
        await using var load = new VisitorLoad(cluster, cluster.Names, options.Rate);
        var run = new CaseRun(cluster, load, options, options.Duration ?? TimeSpan.FromSeconds(one.Seconds));
        await one.RunAsync(run);
        broken.AddRange(run.Broken.Select(promise => $"{one.Name}: {promise}"));
        if (run.Broken.Count > 0)
        {
            foreach (var line in cluster.LastTroubles())
            {
                CaseRun.Say(line);
            }
        }
    }
}
catch (FaultSuiteException exception)
{
    Console.Error.WriteLine($"tunnel2-cluster-faults: {exception.Message}");
    return 2;
}

Console.WriteLine(broken.Count == 0
    ? "Every promise holds."
    : string.Create(CultureInfo.InvariantCulture, $"{broken.Count} promises do not hold:\n  {string.Join("\n  ", broken)}"));
return broken.Count > 0 ? 1 : unmeasured > 0 ? 2 : 0;
