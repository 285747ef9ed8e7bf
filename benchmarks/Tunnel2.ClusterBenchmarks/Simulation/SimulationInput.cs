using System.Globalization;

namespace Tunnel2.ClusterBenchmarks.Simulation;

/// <summary>What is simulated, and the unit costs. The defaults are those of docs/scaling.md.</summary>
internal sealed record SimulationInput
{
    public const string Usage =
        """
        simulate:  --sessions N (1000000)   --requests N a second in all (100000)   --hours N: each session registers once in so many (1)
                   --seed N (1)   --claims N registrations a second that the database carries (240)   --looks N look-ups (6600)
                   --renewals N (490)   --notice N µs of a node's processor for a notice (4)   --rows N rows a second for sums (4000000)
                   --published N names a second that nodes register again in portions (28000)
        """;

    /// <summary>Sessions of the whole cluster.</summary>
    public int Sessions { get; init; } = 1_000_000;

    /// <summary>Requests a second of all visitors.</summary>
    public int Requests { get; init; } = 100_000;

    /// <summary>In how many hours each session registers once.</summary>
    public int Hours { get; init; } = 1;

    /// <summary>The seed of everything that is drawn.</summary>
    public int Seed { get; init; } = 1;

    /// <summary>Registrations a second that the database carries.</summary>
    public int Claims { get; init; } = 240;

    /// <summary>Look-ups a second that it carries.</summary>
    public int Looks { get; init; } = 6_600;

    /// <summary>Renewals a second that it carries.</summary>
    public int Renewals { get; init; } = 490;

    /// <summary>What hearing a notice costs a node, in µs of one processor.</summary>
    public int NoticeMicroseconds { get; init; } = 4;

    /// <summary>Names a second that it carries when nodes register them again in portions.</summary>
    public int Published { get; init; } = 28_000;

    /// <summary>Rows a second that the database reads for the comparison of names.</summary>
    public int Rows { get; init; } = 4_000_000;

    /// <summary>Reads the command line.</summary>
    /// <returns>Null: it is wrong.</returns>
    public static SimulationInput? Parse(string[] arguments)
    {
        var input = new SimulationInput();
        for (var i = 0; i < arguments.Length; i += 2)
        {
            if (i + 1 == arguments.Length
                || !int.TryParse(arguments[i + 1], NumberStyles.None, CultureInfo.InvariantCulture, out var number)
                || number is < 1 or > 10_000_000)
            {
                return null;
            }

            var next = arguments[i] switch
            {
                "--sessions" => input with { Sessions = number },
                "--requests" => input with { Requests = number },
                "--hours" => input with { Hours = number },
                "--seed" => input with { Seed = number },
                "--claims" => input with { Claims = number },
                "--looks" => input with { Looks = number },
                "--renewals" => input with { Renewals = number },
                "--notice" => input with { NoticeMicroseconds = number },
                "--published" => input with { Published = number },
                "--rows" => input with { Rows = number },
                _ => null,
            };
            if (next is null)
            {
                return null;
            }

            input = next;
        }

        return input;
    }
}
