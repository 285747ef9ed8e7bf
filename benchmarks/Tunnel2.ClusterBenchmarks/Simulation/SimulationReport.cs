using System.Globalization;

namespace Tunnel2.ClusterBenchmarks.Simulation;

/// <summary>The table of docs/scaling.md.</summary>
internal static class SimulationReport
{
    private static readonly int[] _nodes = [10, 100, 1000];

    public static void Print(SimulationInput input)
    {
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{input.Sessions} sessions, {input.Requests} requests/s, a registration of each in {input.Hours} h, seed {input.Seed}"));
        Console.WriteLine($"| | {string.Join(" | ", _nodes.Select(static nodes => $"{nodes} nodes"))} |");
        Console.WriteLine($"|---|{string.Concat(_nodes.Select(static _ => "---|"))}");
        var caches = _nodes.Select(nodes => CacheSimulation.Run(input, nodes)).ToArray();
        var storms = _nodes.Select(nodes => StormSimulation.Run(input, nodes)).ToArray();
        var claims = input.Sessions / (input.Hours * 3600.0);
        Row("sessions of a node", (nodes, _) => $"{input.Sessions / nodes}");
        Row("requests that another node serves", (nodes, _) => Share(1 - (1.0 / nodes)));
        Row("renewals a second, of what the database carries", (nodes, _) => Load(nodes / 2.0, input.Renewals));
        Row("rows read a second to compare names, of what it carries", (_, _) => Load(input.Sessions / 10.0, input.Rows));
        Row("registrations a second, of what it carries", (_, _) => Load(claims, input.Claims));
        Row("misses of the cache", (_, i) => Share(caches[i].Misses));
        Row("look-ups a second of a node, at most 200", (nodes, i) => Number(caches[i].Misses * input.Requests / nodes));
        Row("look-ups a second, of what the database carries", (nodes, i) =>
            Load(Math.Min(200, caches[i].Misses * input.Requests / nodes) * nodes, input.Looks));
        Row("notices a second to all nodes", (nodes, _) => Number(claims * 2 * nodes));
        Row("processor of a node for notices", (_, _) => Share(claims * 2 * input.NoticeMicroseconds / 1e6));
        Row("links of a node in each direction", (_, i) => $"{caches[i].Links}");
        Row("links in all", (nodes, i) => $"{(long)caches[i].Links * nodes}");
        Row("a node dies: 99 in 100 back, all back", (_, i) => string.Create(
            CultureInfo.InvariantCulture, $"{storms[i].Most:0.0} s, {storms[i].All:0.0} s"));
        Row("tries that failed then", (_, i) => $"{storms[i].Failed}");
        Row("an outage of the database: all register again in", (_, _) => string.Create(
            CultureInfo.InvariantCulture, $"{(double)input.Sessions / input.Published:0} s"));
    }

    private static void Row(string what, Func<int, int, string> value) =>
        Console.WriteLine($"| {what} | {string.Join(" | ", _nodes.Select(value))} |");

    private static string Load(double rate, double most) => $"{Number(rate)} ({Share(rate / most)})";

    private static string Number(double value) => value.ToString(value < 10 ? "0.0" : "0", CultureInfo.InvariantCulture);

    private static string Share(double part) => (part * 100).ToString(part < 0.1 ? "0.0" : "0", CultureInfo.InvariantCulture) + " %";
}
