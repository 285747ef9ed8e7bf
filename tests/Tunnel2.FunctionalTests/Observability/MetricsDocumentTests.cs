using System.Text.Json;
using System.Text.RegularExpressions;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.ProxyEntry.Errors;
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
        Assert.True(expressions.Length > 40);
        foreach (var expression in expressions)
        {
            AssertAsksForOnly(names, expression, expression);
            Assert.Matches(MetricName(), By().Replace(expression, ""));
        }
    });

    [Fact]
    public Task The_rules_ask_for_metrics_and_for_figures_that_there_are() => RunAsync((names, _) =>
    {
        var rules = Rules().ToArray();
        var figures = rules.Where(static rule => rule.Kind == "record").Select(static rule => rule.Name).ToArray();
        Assert.True(figures.Length > 5 && rules.Length - figures.Length > 10);
        foreach (var (_, name, expression) in rules)
        {
            Assert.All(Figure().Matches(expression), figure => Assert.Contains(figure.Value, figures));
            AssertAsksForOnly(names, Figure().Replace(expression, ""), $"{name}: {expression}");
        }
    });

    [Fact]
    public void What_the_servers_settings_refuse_is_no_error_of_its_own()
    {
        var own = ProxyErrorCatalog.All
            .Where(static info => info is { Leg: ProxyErrorLeg.Entry, Status: >= 500 })
            .Select(static info => info.Code);
        var rule = Rules().Single(static rule => rule.Name == "instance:tunnel2_server_errors:ratio_rate5m").Expression;
        Assert.Equal(own.Order(StringComparer.Ordinal), ErrorTypes().Match(rule).Groups[1].Value.Split('|').Order(StringComparer.Ordinal));
    }

    [Fact]
    public void The_document_lists_the_alerts()
    {
        var documented = AlertRow().Matches(File.ReadAllText(Path.Combine(_docs, "observability.md")))
            .Select(static match => match.Groups[1].Value);
        Assert.Equal(Rules().Where(static rule => rule.Kind == "alert").Select(static rule => rule.Name), documented);
    }

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

    private static void AssertAsksForOnly(string[] names, string expression, string where) => Assert.All(
        MetricName().Matches(By().Replace(expression, "")).Select(static match => match.Value),
        name => Assert.True(names.Contains(name) || names.Contains(HistogramPart().Replace(name, "")), $"{name} in {where}"));

    /// <summary>Each rule's kind (record or alert), name, and expression without line ends.</summary>
    private static IEnumerable<(string Kind, string Name, string Expression)> Rules() => Rule()
        .Matches(File.ReadAllText(Path.Combine(RepositoryFolder.Path, "deploy", "prometheus", "tunnel2.rules.yml")))
        .Select(static match => (match.Groups[1].Value, match.Groups[2].Value, match.Groups[3].Value.ReplaceLineEndings(" ")));

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

    [GeneratedRegex(@"- (record|alert): (\S+)\n +expr:( [^|\n].*| \|(?:\n {10,}\S.*)+)")]
    private static partial Regex Rule();

    [GeneratedRegex("error_type=~\"([a-z|-]+)\"")]
    private static partial Regex ErrorTypes();

    [GeneratedRegex(@"\b[a-z_]+:[a-z0-9_]+:[a-z0-9_]+")]
    private static partial Regex Figure();

    [GeneratedRegex(@"^\| `(Tunnel2[A-Za-z]+)` \|", RegexOptions.Multiline)]
    private static partial Regex AlertRow();

    [GeneratedRegex(@"\bby \([^)]*\)")]
    private static partial Regex By();
}
