using System.Text.Json;
using System.Text.RegularExpressions;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Observability;

/// <summary>What is written about metrics, against those that there are.</summary>
public sealed partial class MetricsDocumentTests
{
    private static readonly string _docs = Path.Combine(RepositoryFolder.Path, "docs");

    [Fact]
    public Task The_document_lists_the_metrics_that_there_are_and_no_others() => RunAsync((names, _) =>
        Assert.Equal(names, Documented().Keys.Order(StringComparer.Ordinal)));

    [Fact]
    public Task Each_metric_shows_the_type_and_no_labels_but_those_of_the_document() => RunAsync((_, text) =>
    {
        var documented = Documented();
        foreach (var match in TypeLine().Matches(text).Where(static match => IsOurs(match.Groups[1].Value)))
        {
            Assert.Equal((match.Groups[1].Value, match.Groups[2].Value), (match.Groups[1].Value, documented[match.Groups[1].Value].Type));
        }

        var samples = Sample().Matches(text).Where(static match => IsOurs(match.Groups[1].Value)).ToArray();
        Assert.NotEmpty(samples);
        foreach (var sample in samples)
        {
            var family = HistogramPart().Replace(sample.Groups[1].Value, "");
            var labels = Label()
                .Matches(sample.Groups[2].Value)
                .Select(static label => label.Groups[1].Value)
                .Where(static label => label != "le");
            var row = documented.GetValueOrDefault(sample.Groups[1].Value) ?? documented[family];
            Assert.All(labels, label => Assert.Contains($"`{label}`", row.Labels, StringComparison.Ordinal));
        }
    });

    [Fact]
    public Task The_board_asks_for_metrics_that_there_are() => RunAsync((names, _) =>
    {
        var expressions = Expressions().ToArray();
        Assert.True(expressions.Length > 10);
        foreach (var expression in expressions)
        {
            var asked = MetricName().Matches(By().Replace(expression, "")).Select(static match => match.Value).ToArray();
            Assert.True(asked.Length > 0, expression);
            Assert.All(
                asked,
                name => Assert.True(names.Contains(name) || names.Contains(HistogramPart().Replace(name, "")), $"{name} in {expression}"));
        }
    });

    private static Task RunAsync(Action<string[], string> check) => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            await tunnel.ExchangeAsync("/");
            await tunnel.ExchangeAsync("/", host: "nobody.localhost");
            await using var admin = await RawHttpClient.ConnectAsync(tunnel.Entry.Admin);
            var text = (await admin.ExchangeAsync("/metrics", "localhost")).Body.Text();
            var shown = TypeLine().Matches(text).Select(static match => match.Groups[1].Value);
            check([.. tunnel.Entry.Metrics.FamilyNames.Concat(shown).Where(IsOurs).Distinct().Order(StringComparer.Ordinal)], text);
        },
        new TunnelSetup { Settings = ["Relay:Listen=127.0.0.1:0", "Timeouts:Park=100ms"] });

    /// <summary>Those of .NET are its own business, and those of an agent, which is in this process too, have a table of their
    /// own.</summary>
    private static bool IsOurs(string name) =>
        !name.StartsWith("dotnet_", StringComparison.Ordinal) && !name.StartsWith("tunnel2_agent_", StringComparison.Ordinal);

    private static Dictionary<string, Row> Documented() => File.ReadLines(Path.Combine(_docs, "observability.md"))
        .Select(static line => TableRow().Match(line))
        .Where(static match => match.Success)
        .ToDictionary(static match => match.Groups[1].Value, static match => new Row(match.Groups[2].Value, match.Groups[3].Value));

    private static IEnumerable<string> Expressions()
    {
        using var board = JsonDocument.Parse(File.ReadAllText(Path.Combine(_docs, "grafana", "tunnel2.json")));
        foreach (var panel in board.RootElement.GetProperty("panels").EnumerateArray())
        {
            if (panel.TryGetProperty("targets", out var targets))
            {
                foreach (var target in targets.EnumerateArray())
                {
                    yield return target.GetProperty("expr").GetString()!;
                }
            }
        }
    }

    private sealed record Row(string Type, string Labels);

    [GeneratedRegex(@"^\| `((?:tunnel2|process)_[a-z0-9_]+)` \| (counter|gauge|histogram) \| [^|]+ \| ([^|]+) \| [^|]+ \|$")]
    private static partial Regex TableRow();

    [GeneratedRegex(@"^# TYPE (\S+) (\S+)$", RegexOptions.Multiline)]
    private static partial Regex TypeLine();

    [GeneratedRegex(@"^([a-z][a-z0-9_]*)(\{.*\})? \S+$", RegexOptions.Multiline)]
    private static partial Regex Sample();

    [GeneratedRegex("([a-z0-9_]+)=\"")]
    private static partial Regex Label();

    [GeneratedRegex("_(bucket|sum|count)$")]
    private static partial Regex HistogramPart();

    [GeneratedRegex(@"\b(?:tunnel2|process|dotnet)_[a-z0-9_]+")]
    private static partial Regex MetricName();

    [GeneratedRegex(@"\bby \([^)]*\)")]
    private static partial Regex By();
}
