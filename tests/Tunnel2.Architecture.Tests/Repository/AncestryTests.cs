using System.Text.RegularExpressions;

namespace Tunnel2.Architecture.Tests.Repository;

/// <summary>
/// docs/ancestry.md says what became of every idea of the older systems: its files exist, its commands are commands of this repository, and
/// each date has its page of measurements.
/// </summary>
public sealed partial class AncestryTests
{
    private const string Document = "docs/ancestry.md";
    private const string FullHeader = "| Old name | What became of it | File | Command | Their figure | Ours | Date |";
    private const string LeftOutHeader = "| Old name | Why |";

    /// <summary>Names that a reader who knows the older systems looks for.</summary>
    private static readonly string[] _names =
    [
        "single-writer channel", "length prefix", "uplink pool", "TunnelUplinkPool", "tiers", "TestMode", "OPEN_REQUEST_STREAM", "NBomber",
        "Pipelines.Sockets.Unofficial", "ConcurrentDictionary", "ReaderWriterLockSlim", "RCU `Get`", "sharded index", "RemoveClient",
        "ResourceGuard", "partitions", "router", "prefetching reader", "SHM ring", "consumer table", "bench_bus_perf", "relay",
    ];

    private static readonly string[] _leftOut = ["huge pages", "slot classes", "NUMA", "relay sharding", "SIMD"];

    private static readonly string _text = File.ReadAllText(RepositoryFiles.FullPath(Document));

    private static IReadOnlyList<string[]> Rows => [.. RowsUnder(FullHeader)];

    [Fact]
    public void Every_old_name_has_a_row()
    {
        Assert.Equal([], _names.Where(name => !Rows.Any(row => row[0].Contains(name, StringComparison.Ordinal))));
        var reasons = RowsUnder(LeftOutHeader).ToList();
        Assert.Equal([], _leftOut.Where(name => !reasons.Any(row => row[0].Contains(name, StringComparison.Ordinal))));
        Assert.Equal([], reasons.Where(row => row[1].Length < 20).Select(row => row[0]));
    }

    [Fact]
    public void Every_row_names_files_that_exist()
    {
        Assert.True(Rows.Count > 40);
        Assert.Equal([], Rows.Where(row => !Code(row[2]).Any()).Select(row => row[0]));
        Assert.Equal([], Rows.SelectMany(row => Code(row[2])).Where(path => !RepositoryFiles.Exists(path)));
    }

    [Fact]
    public void Every_row_has_a_command_of_this_repository() =>
        Assert.Equal([], Rows.SelectMany(row => Code(row[3]).DefaultIfEmpty(row[0])).Distinct().Select(FindMistake).OfType<string>());

    [Fact]
    public void Every_date_has_its_page() => Assert.Equal(
        [],
        Rows.Select(row => row[6]).Where(date => date.Length > 0 && !RepositoryFiles.Exists($"docs/measurements/{date}.md")).Distinct());

    [Theory]
    [InlineData("$live ring nothing")]
    [InlineData("$live nothing")]
    [InlineData("$live ring compare --nothing 1")]
    [InlineData("$hub nothing")]
    [InlineData("load nothing")]
    [InlineData("bench Nothing")]
    [InlineData("unit Tunnel2.Client.Tests NothingTests")]
    [InlineData("tunnel2 nothing")]
    [InlineData("load-tests/nothing/run.sh")]
    [InlineData("make coffee")]
    public void A_command_that_does_not_exist_is_noticed(string command) => Assert.NotNull(FindMistake(command));

    /// <summary>Null when the command's program, its sub-command and its options are there.</summary>
    private static string? FindMistake(string command)
    {
        var words = command.Split(' ');
        var found = words[0] switch
        {
            "$live" => IsIn("benchmarks/Tunnel2.LiveBenchmarks", words[1..]),
            "$hub" => IsIn("load-tests/Tunnel2.HubLoad", words[1..]),
            "load" => Read("load-tests/Tunnel2.LoadTests/Scenarios/ScenarioCatalog.cs")
                .Contains($"\"{words[1]}\"", StringComparison.Ordinal),
            "bench" => HasSource("benchmarks/Tunnel2.Benchmarks", words[1]),
            "unit" => RepositoryFiles.Exists($"tests/{words[1]}/{words[1]}.csproj") && HasSource($"tests/{words[1]}", words[2]),
            "tunnel2" => Read("src/Tunnel2.Client/CommandLine/CommandTable.cs").Contains($"new(\"{words[1]}\"", StringComparison.Ordinal),
            _ when words[0].EndsWith(".sh", StringComparison.Ordinal) => RepositoryFiles.Exists(words[0]),
            _ => false,
        };
        return found && (words[0].Contains('/', StringComparison.Ordinal) || IsDefined(words[0].TrimStart('$'))) ? null : command;
    }

    /// <summary>A short form has to be in the block at the head of the page.</summary>
    private static bool IsDefined(string name) =>
        _text.Contains($"\n{name}=", StringComparison.Ordinal) || _text.Contains($"\n{name}() {{", StringComparison.Ordinal);

    /// <summary>
    /// The first word is one that the program compares with; further words and options are texts or (in capitals) names in its sources.
    /// </summary>
    private static bool IsIn(string project, string[] words)
    {
        var sources = string.Concat(RepositoryFiles.All(".cs", project).Select(Read));
        return Read($"{project}/Program.cs").Contains($"\"{words[0]}\"", StringComparison.Ordinal)
            && words[1..].Where(word => word.StartsWith("--", StringComparison.Ordinal))
                .All(option => sources.Contains($"\"{option}\"", StringComparison.Ordinal))
            && words[1..].TakeWhile(word => !word.StartsWith("--", StringComparison.Ordinal)).Where(word => char.IsLetter(word[0]))
                .Where(word => !word.StartsWith("striped-", StringComparison.Ordinal))
                .All(word => sources.Contains($"\"{word}\"", StringComparison.Ordinal)
                    || (char.IsUpper(word[0]) && Regex.IsMatch(sources, $"\\b{Regex.Escape(word)}\\b")));
    }

    /// <summary>As the filters of tests and benchmarks match: a part of the name.</summary>
    private static bool HasSource(string folder, string type) => RepositoryFiles.All(".cs", folder)
        .Any(path => Path.GetFileNameWithoutExtension(path).Contains(type, StringComparison.Ordinal));

    private static string Read(string path) => File.ReadAllText(RepositoryFiles.FullPath(path));

    private static IEnumerable<string> Code(string cell) => Backticks().Matches(cell).Select(match => match.Groups[1].Value);

    /// <summary>The cells of the tables' rows that have this header.</summary>
    private static IEnumerable<string[]> RowsUnder(string header)
    {
        var lines = _text.Split('\n');
        for (var i = 0; i < lines.Length; i++)
        {
            if (lines[i] == header)
            {
                for (i += 2; lines[i].StartsWith('|'); i++)
                {
                    var cells = lines[i].Split('|')[1..^1].Select(cell => cell.Trim()).ToArray();
                    Assert.Equal(header.Count(c => c == '|') - 1, cells.Length);
                    yield return cells;
                }
            }
        }
    }

    [GeneratedRegex("`([^`]+)`")]
    private static partial Regex Backticks();
}
