using System.Globalization;
using Tunnel2.ClusterFaults.Cases;

namespace Tunnel2.ClusterFaults;

/// <summary>The command line.</summary>
internal sealed record FaultOptions
{
    /// <summary>What there is.</summary>
    public static string Usage =>
        $"""
        usage: tunnel2-cluster-faults [CASE...] [--seconds N] [--rate N] [--agents N] [--older PROGRAM] [--loopback]

          Starts PostgreSQL, three nodes, agents and a backend of the built programs, sends requests with checked bodies through all nodes,
          and lets something fail. Exit code: 0 every promise holds, 1 one does not, 2 it could not be measured.

          --seconds N   how long the fault lasts (default: what the case says)
          --rate N      requests a second (200)
          --agents N    sessions of the case 'storm' (1000)
          --older PROGRAM   tunnel2-entry.dll of an older release, for the case 'upgrade'
          --loopback    everything on loopback at free ports, not in network namespaces: no cuts, and no rights needed

        cases (default: all that can run):
        {string.Join('\n', FaultCases.All.Select(static one => $"  {one.Name,-18} {one.Promise}"))}
        """;

    /// <summary>The cases; empty: all that can run.</summary>
    public IReadOnlyList<string> Cases { get; private init; } = [];

    /// <summary>How long the fault lasts; null: what the case says.</summary>
    public TimeSpan? Duration { get; private init; }

    /// <summary>Requests a second.</summary>
    public int Rate { get; private init; } = 200;

    /// <summary>Sessions of the storm.</summary>
    public int Agents { get; private init; } = 1000;

    /// <summary>The <c>tunnel2-entry.dll</c> of an older release; null: there is none.</summary>
    public string? Older { get; private init; }

    /// <summary>No namespaces.</summary>
    public bool IsLoopback { get; private init; }

    /// <summary>Reads it.</summary>
    /// <returns>Null: it is wrong, or help was asked for.</returns>
    public static FaultOptions? Parse(IReadOnlyList<string> arguments)
    {
        var options = new FaultOptions();
        var cases = new List<string>();
        for (var i = 0; i < arguments.Count; i++)
        {
            if (arguments[i] == "--loopback")
            {
                options = options with { IsLoopback = true };
            }
            else if (FaultCases.All.Any(one => one.Name == arguments[i]))
            {
                cases.Add(arguments[i]);
            }
            else if (arguments[i] == "--older" && i + 1 < arguments.Count && File.Exists(arguments[i + 1]))
            {
                options = options with { Older = Path.GetFullPath(arguments[++i]) };
            }
            else if (i + 1 < arguments.Count
                && int.TryParse(arguments[i + 1], NumberStyles.None, CultureInfo.InvariantCulture, out var number)
                && Set(options, arguments[i], number) is { } changed)
            {
                options = changed;
                i++;
            }
            else
            {
                return null;
            }
        }

        return options with { Cases = cases };
    }

    private static FaultOptions? Set(FaultOptions options, string flag, int number) => (flag, number) switch
    {
        ("--seconds", >= 1 and <= 600) => options with { Duration = TimeSpan.FromSeconds(number) },
        ("--rate", >= 1 and <= 5000) => options with { Rate = number },
        ("--agents", >= 10 and <= 5000) => options with { Agents = number },
        _ => null,
    };
}
