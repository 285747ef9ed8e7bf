using System.Text.RegularExpressions;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Documents;

/// <summary>What the documents list is what there is.</summary>
public sealed partial class DocumentTests
{
    [Fact]
    public void Every_setting_has_a_row_and_every_row_a_setting()
    {
        var known = SettingKeys.Values.Select(static key => key.Path)
            .Concat(
                SettingKeys.AgentKeys.Where(static key => key != SettingKeys.AgentNames).Select(
                    static key => $"{SettingKeys.Agents}:<id>:{key}"))
            .Append($"{SettingKeys.Agents}:<id>:{SettingKeys.AgentNames}:0")
            .Concat(SettingKeys.TierKeys.Select(static key => $"{SettingKeys.Tiers}:<name>:{key}"))
            .Append($"{SettingKeys.TrustedProxies}:0")
            .Order();
        Assert.Equal(known, RowsOf("docs/settings.md").SelectMany(ExpandNames).Where(static name => name != ":1").Order());
    }

    [Fact]
    public void Every_error_stands_under_its_status_and_every_row_names_errors()
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

    private static IEnumerable<string> RowsOf(string document) =>
        File.ReadLines(PathOf(document))
            .Where(static line => line.StartsWith("| `", StringComparison.Ordinal))
            .Select(static line => line.Split('|')[1]);

    /// <summary><c>`A:B`, `:C`</c> are A:B and A:C.</summary>
    private static IEnumerable<string> ExpandNames(string cell)
    {
        var before = "";
        foreach (Match match in Quoted().Matches(cell))
        {
            var name = match.Groups[1].Value;
            if (name == ":1")
            {
                continue;
            }

            if (name.StartsWith(':'))
            {
                name = before[..before.LastIndexOf(':')] + name;
            }

            before = name;
            yield return name;
        }
    }

    private static string PathOf(string document) => Path.Combine(RepositoryFolder.Path, document);

    [GeneratedRegex("`([^`]+)`")]
    private static partial Regex Quoted();
}
