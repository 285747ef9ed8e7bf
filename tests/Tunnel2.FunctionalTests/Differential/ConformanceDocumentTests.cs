using System.Globalization;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Http2Backends;
using Tunnel2.Http1;
using Tunnel2.Http2.Frames;
using Tunnel2.TestUtilities.Documents;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>docs/conformance.md is what the tests find: its tables are made of their rows and of what they see.</summary>
public sealed class ConformanceDocumentTests
{
    private const string Same = "as sent";

    /// <summary>TUNNEL2_ACCEPT_DOCS=1 rewrites the tables.</summary>
    [Fact]
    public async Task The_document_says_what_happens()
    {
        var outcomes = await OutcomesAsync();
        var (actual, expected) = GeneratedRows.Make("docs/conformance.md", group => group switch
        {
            "Outcomes" => outcomes,
            "Ends" => EndTests.Rows,
            "VisitorEnds" => VisitorEndTests.Rows,
            "Upgrades" => UpgradeEndTests.Rows,
            "Differences" => Difference.All.Select(static row => $"| {row.What} | {row.Pairs} | {row.Why} |"),
            "Fields" => FieldTable.Rows.Where(static row => row.Name is not null).Select(ShowRow),
            "VisitorConnection" => HostileHttp2VisitorTests.ConnectionRows.Select(static row => $"| {row.Key} | {Code(row.Value.Code)} |"),
            "VisitorStream" => HostileHttp2VisitorTests.StreamRows.Select(static row => $"| {row.Key} | {Answer(row.Value.Answer)} |"),
            "ServiceConnection" => HostileServiceTests.ConnectionRows.Select(static row => $"| {row.Key} | {Code((int)row.Value.Code)} |"),
            "ServiceStream" => HostileServiceTests.StreamRows.Select(static row => $"| {row.Key} | {Code((int)row.Value.Code)} |"),
            _ => throw new InvalidOperationException($"There are no rows of {group}."),
        });
        Assert.Equal(expected, actual);
    }

    private static async Task<List<string>> OutcomesAsync()
    {
        var cells = new Dictionary<(int Number, Pair Pair), string>();
        foreach (var pair in Pair.All)
        {
            var cases = ConformanceCase.All.Where(one => one.Where(pair)).ToArray();
            PlannedExchange[] plan = [.. cases.Select(static one => one.Exchange)];
            var direct = await Twice.DirectAsync(pair, plan);
            var through = await Twice.ThroughAsync(pair, plan);
            foreach (var exchange in plan)
            {
                cells[(exchange.Number, pair)] = Outcome(pair, exchange, direct[exchange.Number], through[exchange.Number]);
            }
        }

        return
        [
            .. ConformanceCase.All.Select(one =>
            {
                var ends = Pair.All.Select(pair => cells.GetValueOrDefault((one.Exchange.Number, pair), "–"));
                return $"| {one.Kind} | {one.What} | {string.Join(" | ", ends)} |";
            }),
        ];
    }

    private static string Outcome(Pair pair, PlannedExchange exchange, SeenExchange direct, SeenExchange through)
    {
        var (expected, actual) = Difference.Compare(pair, direct.Response, through.Response);
        var changes = Changes("answered", expected, actual);
        if (!exchange.IsAnsweredEarly && through.Request is { } request)
        {
            (expected, actual) = Difference.Compare(pair, direct.Request!, request);
            changes = [.. changes, .. Changes("arrives", expected, actual)];
        }

        return changes.Length == 0 ? Same : string.Join("; ", changes);
    }

    private static string[] Changes(string what, List<string> expected, List<string> actual) => expected.SequenceEqual(actual)
        ? []
        : [$"{what} with {Lines(actual.Except(expected))} for {Lines(expected.Except(actual))}"];

    private static string Lines(IEnumerable<string> lines)
    {
        var text = string.Join(", ", lines.Select(static line => $"`{line}`"));
        return text.Length == 0 ? "nothing" : text.Replace("|", "\\|", StringComparison.Ordinal);
    }

    private static string ShowRow(FieldRow row) =>
        $"| `{row.Name}` | {row.Request} | {row.Response} | {row.Trailer} | {(row.IsOfHttp1 ? "malformed" : "")} |";

    private static string Code(int code) => $"{code} {(Http2ErrorCode)code}";

    private static string Answer(string answer) =>
        answer.StartsWith("RST ", StringComparison.Ordinal)
            ? $"RST_STREAM {Code(int.Parse(answer[4..], CultureInfo.InvariantCulture))}"
            : $"status {answer}";
}
