using System.Text.RegularExpressions;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.TestUtilities;
using Tunnel2.TestUtilities.Documents;

namespace Tunnel2.ProxyEntry.Tests.Documents;

/// <summary>What the documents list is what there is.</summary>
public sealed partial class DocumentTests
{
    /// <summary>TUNNEL2_ACCEPT_DOCS=1 rewrites the tables.</summary>
    [Theory]
    [InlineData("docs/settings.md", true)]
    [InlineData("docs/access-log.md", false)]
    [InlineData("docs/observability.md", false)]
    [InlineData("docs/live.md", false)]
    public void The_rows_of_settings_are_those_of_the_table(string document, bool hasAll)
    {
        var shown = new List<SettingEntry>();
        var (actual, expected) = GeneratedRows.Make(document, group =>
        {
            var entries = SettingsLoader.Entries.Where(entry => entry.Path.Split(':')[0] == group).ToArray();
            shown.AddRange(entries);
            return entries.Select(static entry => entry.ToString());
        });

        Assert.Equal(expected, actual);
        Assert.Equal(shown.Distinct(), shown);
        Assert.NotEmpty(shown);
        Assert.Equal([], hasAll ? SettingsLoader.Entries.Except(shown) : []);
    }

    [Fact]
    public void Every_error_is_under_its_status_and_every_row_names_errors()
    {
        var known = ProxyErrorCatalog.All.Select(static error => $"{error.Status} {error.Code}").Order();
        var rows = File.ReadLines(PathOf("docs/errors.md")).Where(
            static line => line.StartsWith("| ", StringComparison.Ordinal) && char.IsAsciiDigit(line[2]));
        var told = rows.SelectMany(static line => Quoted()
            .Matches(line.Split('|')[2])
            .Where(static match => match.Groups[1].Value != "Retry-After")
            .Select(match => $"{line.Split('|')[1].Trim()} {match.Groups[1].Value}")).Order();
        Assert.Equal(known, told);
    }

    private static string PathOf(string document) => Path.Combine(RepositoryFolder.Path, document);

    [GeneratedRegex("`([^`]+)`")]
    private static partial Regex Quoted();
}
