using System.Text.RegularExpressions;
using Tunnel2.Architecture.Tests.Repository;
using Tunnel2.Client.CommandLine;

namespace Tunnel2.Architecture.Tests.Documents;

/// <summary>Documents show commands, flags and settings that exist.</summary>
public sealed partial class DocumentedCommandTests
{
    private const string Agent = "tunnel2";
    private const string Server = "tunnel2-entry";

    private static readonly string _serversHelp =
        File.ReadAllText(RepositoryFiles.FullPath("src/Tunnel2.ProxyEntry/Hosting/EntryHelp.cs"));

    private static readonly Regex[] _settings = [.. Settings()];

    /// <summary>Those that lead a reader through commands one by one.</summary>
    public static TheoryData<string> Guides =>
        [.. RepositoryFiles.All(".md", "docs/tutorials"), "docs/releases.md", "docs/compatibility.md"];

    public static TheoryData<string> Documents => [.. RepositoryFiles.All(".md", "docs")];

    [Theory]
    [MemberData(nameof(Guides))]
    public void Commands_of_the_agent_exist_with_their_flags(string document) =>
        Assert.Equal([], DocumentCode.CommandsOf(document, Agent).SelectMany(AgentMistakes).Distinct());

    [Theory]
    [MemberData(nameof(Guides))]
    public void Commands_of_the_server_exist_with_their_flags(string document) =>
        Assert.Equal([], DocumentCode.CommandsOf(document, Server).SelectMany(ServerMistakes).Distinct());

    [Theory]
    [MemberData(nameof(Guides))]
    public void Settings_exist(string document)
    {
        var named = SettingName().Matches(DocumentCode.All(document)).Select(
            static match => match.Groups["key"].Value.Replace("__", ":", StringComparison.Ordinal).TrimEnd(':'));
        Assert.Equal([], named.Where(static key => !_settings.Any(setting => setting.IsMatch(key))).Distinct());
    }

    [Theory]
    [MemberData(nameof(Documents))]
    public void Links_to_headings_lead_to_one(string document)
    {
        var links = HeadingLink().Matches(File.ReadAllText(RepositoryFiles.FullPath(document)));
        var broken = links.Where(match =>
        {
            var file = match.Groups["file"].Value is { Length: > 0 } other
                ? Path.Combine(Path.GetDirectoryName(document)!, other)
                : document;
            return !RepositoryFiles.Exists(file) || !DocumentCode.AnchorsOf(file).Contains(match.Groups["anchor"].Value);
        });
        Assert.Equal([], broken.Select(static match => match.Value));
    }

    [Fact]
    public void A_mistake_in_a_document_would_be_seen()
    {
        Assert.Equal(["tunnel2 htp"], AgentMistakes([Agent, "htp", "3000"]));
        Assert.Equal(["tunnel2 http --nme"], AgentMistakes([Agent, "http", "3000", "--nme", "web"]));
        Assert.Equal(["tunnel2 tcp --basic-auth"], AgentMistakes([Agent, "tcp", "22", "--basic-auth=me:secret"]));
        Assert.Equal(["tunnel2-entry token make"], ServerMistakes([Server, "token", "make"]));
        Assert.Equal(["tunnel2-entry --nme"], ServerMistakes([Server, "token", "create", "--nme", "web"]));
        Assert.Contains(_settings, static setting => setting.IsMatch("Agents:web:Names:0"));
        Assert.DoesNotContain(_settings, static setting => setting.IsMatch("Agents:web:Nmes"));
    }

    private static IEnumerable<string> AgentMistakes(string[] words)
    {
        var rest = words.Skip(1).TakeWhile(static word => word != "--").ToArray();
        var flags = rest.Where(static word => word.StartsWith('-')).Select(static word => word.Split('=')[0]).ToArray();
        var names = rest.TakeWhile(static word => !word.StartsWith('-')).ToArray();
        if (names.Length == 0)
        {
            return flags.Where(static flag => !CommandTable.RootOptions.Any(option => option.Names.Contains(flag)))
                .Select(static flag => $"{Agent} {flag}");
        }

        var command = CommandTable.All.FirstOrDefault(command => command.Name == string.Join(' ', names.Take(2)))
            ?? CommandTable.All.FirstOrDefault(command => command.Name == names[0]);
        return command is null
            ? [$"{Agent} {names[0]}"]
            : flags.Where(flag => !command.ShownOptions.Append(CommandTable.Help).Any(option => option.Names.Contains(flag)))
                .Select(flag => $"{Agent} {command.Name} {flag}");
    }

    private static IEnumerable<string> ServerMistakes(string[] words)
    {
        var names = words.Skip(1).TakeWhile(static word => !word.StartsWith('-')).Take(2).ToArray();
        var command = string.Join(' ', names);
        if (names.Length > 0 && !_serversHelp.Contains($"  {command} ", StringComparison.Ordinal)
            && !_serversHelp.Contains($"  {names[0]}  ", StringComparison.Ordinal))
        {
            yield return $"{Server} {command}";
        }

        foreach (var flag in words.Where(static word => word.StartsWith('-') && !word.StartsWith("--Tunnel2:", StringComparison.Ordinal)))
        {
            if (!Regex.IsMatch(_serversHelp, $"(?<![\\w-]){Regex.Escape(flag.Split('=')[0])}(?![\\w-])"))
            {
                yield return $"{Server} {flag}";
            }
        }
    }

    /// <summary>The settings of docs/settings.md, which its own test holds to the code.</summary>
    private static IEnumerable<Regex> Settings()
    {
        foreach (Match row in SettingRow().Matches(File.ReadAllText(RepositoryFiles.FullPath("docs/settings.md"))))
        {
            foreach (Match key in SettingKey().Matches(row.Groups["keys"].Value))
            {
                var pattern = Placeholder().Replace(key.Groups["key"].Value, "[^:]+");
                yield return new Regex($"^{ListIndex().Replace(pattern, "(:[0-9]+)?")}$");
            }
        }
    }

    [GeneratedRegex(@"Tunnel2(?:__|:)(?<key>[A-Z][\w:-]*)")]
    private static partial Regex SettingName();

    [GeneratedRegex(@"^\| (?<keys>`[A-Z][^|]*) \|", RegexOptions.Multiline)]
    private static partial Regex SettingRow();

    [GeneratedRegex("`(?<key>[A-Z][^`]*)`")]
    private static partial Regex SettingKey();

    [GeneratedRegex("<[a-z]+>")]
    private static partial Regex Placeholder();

    [GeneratedRegex(":0$")]
    private static partial Regex ListIndex();

    [GeneratedRegex(@"\]\((?<file>[\w./-]*\.md)?#(?<anchor>[\w-]+)\)")]
    private static partial Regex HeadingLink();
}
