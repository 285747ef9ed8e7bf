using System.Globalization;
using Tunnel2.ClusterBenchmarks;
using Tunnel2.ClusterBenchmarks.Simulation;

switch (args)
{
    case ["directory", var database, var seconds] when int.TryParse(seconds, NumberStyles.None, CultureInfo.InvariantCulture, out var time)
        && time is >= 1 and <= 600:
        await DirectoryBenchmark.RunAsync(database, TimeSpan.FromSeconds(time));
        return 0;
    case ["cache"]:
        CacheBenchmark.Run();
        return 0;
    case ["simulate", .. var rest] when SimulationInput.Parse(rest) is { } input:
        SimulationReport.Print(input);
        return 0;
    default:
        Console.Error.WriteLine(
            $"""
            usage: tunnel2-cluster-bench directory CONNECTION-STRING SECONDS   registrations, look-ups, renewals and notices a second
                   tunnel2-cluster-bench cache                                 memory of a name in a node's cache, and a look at it
                   tunnel2-cluster-bench simulate [--KEY N ...]                what a cluster of many nodes asks for

            {SimulationInput.Usage}
            """);
        return 2;
}
