using System.Globalization;
using Tunnel2.Client.CommandLine;

namespace Tunnel2.Client.Live;

/// <summary>What the flags of <c>tunnel2 tap</c> and <c>tunnel2 stats</c> mean.</summary>
internal sealed class TapCommandLine
{
    /// <summary>Partitions of a recording; each is a thread and has its own state.</summary>
    public const int MostPartitions = 64;

    /// <summary>Checks a command line whose first word is one of the two.</summary>
    /// <returns>The options, or null when <paramref name="mistakes"/> has entries.</returns>
    public TapOptions? Parse(IReadOnlyList<string> args, Func<string, string?> environment, List<string> mistakes)
    {
        ParsedLine line = CommandLineReader.Read(args);
        bool isStats = line.Command is { Name: "stats" };
        mistakes.AddRange(line.Mistakes);
        if (mistakes.Count > 0)
        {
            return null; // A flag without one value has none to ask for.
        }

        var options = new TapOptions { Json = line.Has("--json") };
        if (isStats)
        {
            string? file = line.Argument;
            if (file is null)
            {
                mistakes.Add("say which recording or ring, as in 'tunnel2 stats FILE'");
            }

            options = options with { ReplayFile = file, Partitions = ParsePartitions(line["--partitions"], mistakes) };
            return mistakes.Count > 0 ? null : options;
        }

        options = options with
        {
            Cluster = line["--cluster"] is { } node
                ? TopCommandLine.ParseServer("--cluster", node, line["--token"], environment, mistakes)
                : null,
            Relay = RelayTarget.Parse(
                flag => flag == "--token" && line.Has("--cluster") ? null : line[flag], environment, mistakes),
            RingFile = line["--ring"],
            ReplayFile = line["--replay"],
            RecordFile = line["--record"],
            FromOldest = line.Has("--from-oldest"),
            Filter = RecordFilter.Parse(line["--name"], line["--status"], line["--min-duration"], mistakes),
        };
        bool[] sources = [line.Has("--cluster"), line.Has("--host"), options.RingFile is not null, options.ReplayFile is not null];
        if (sources.Count(static given => given) > 1)
        {
            mistakes.Add("--cluster, --host, --ring, --replay: only one of them can be given");
        }

        if (options is { FromOldest: true, Cluster: not null })
        {
            mistakes.Add("--from-oldest: --cluster begins with the last requests of each node");
        }

        return mistakes.Count > 0 ? null : options;
    }

    private static int? ParsePartitions(string? text, List<string> mistakes)
    {
        if (text is null or "auto")
        {
            return null;
        }

        if (int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int count) && count is >= 1 and <= MostPartitions)
        {
            return count;
        }

        mistakes.Add($"--partitions: '{text}' is neither auto nor a number from 1 to {MostPartitions}");
        return null;
    }
}
