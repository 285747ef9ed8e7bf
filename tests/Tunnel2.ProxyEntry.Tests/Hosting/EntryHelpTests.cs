using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Hosting;

namespace Tunnel2.ProxyEntry.Tests.Hosting;

public sealed class EntryHelpTests
{
    [Theory]
    [InlineData("--help", "tunnel2-entry is the server")]
    [InlineData("-h", "tunnel2-entry is the server")]
    [InlineData("-?", "tunnel2-entry is the server")]
    [InlineData("help", "tunnel2-entry is the server")]
    [InlineData("help help", "tunnel2-entry is the server")]
    [InlineData("--Tunnel2:Domain=x --help", "tunnel2-entry is the server")]
    [InlineData("help token", "usage: tunnel2-entry token create")]
    [InlineData("token --help", "usage: tunnel2-entry token create")]
    [InlineData("token create --name web -h", "usage: tunnel2-entry token create")]
    [InlineData("help sessions", "usage: tunnel2-entry sessions list")]
    [InlineData("sessions kick -h", "usage: tunnel2-entry sessions list")]
    [InlineData("token create --keep --help", "usage: tunnel2-entry token create")]
    [InlineData("policies set --help", "usage: tunnel2-entry policies list")]
    [InlineData("help agents", "usage: tunnel2-entry agents list")]
    [InlineData("requests list -h", "usage: tunnel2-entry requests list")]
    [InlineData("help certificate", "usage: tunnel2-entry certificate create")]
    [InlineData("certificate create --help", "usage: tunnel2-entry certificate create")]
    [InlineData("help health", "usage: tunnel2-entry health")]
    [InlineData("health -?", "usage: tunnel2-entry health")]
    [InlineData("--version", "tunnel2-entry ")]
    [InlineData("-v", "tunnel2-entry ")]
    [InlineData("version", "tunnel2-entry ")]
    public void Help_and_version_need_no_settings(string line, string beginning)
    {
        var text = EntryHelp.Asked(line.Split(' '));

        Assert.StartsWith(beginning, text, StringComparison.Ordinal);
        Assert.EndsWith("\n", text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("")]
    [InlineData("--Tunnel2:Domain=help")]
    [InlineData("token create --name web")]
    [InlineData("health")]
    [InlineData("help nonsense")]
    [InlineData("help token create")]
    [InlineData("nonsense")]
    public void Who_does_not_ask_gets_none(string line) =>
        Assert.Null(EntryHelp.Asked(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)));

    [Fact]
    public void Every_command_has_two_examples() => Assert.All(EntryWords.Commands, static command =>
    {
        var lines = EntryHelp.Asked(["help", command])!.Split("Examples:\n")[1].Split('\n');
        Assert.True(lines.Count(line => line.StartsWith($"  tunnel2-entry {command}", StringComparison.Ordinal)) >= 2, command);
        Assert.Contains($"tunnel2-entry {command}", EntryHelp.Usage, StringComparison.Ordinal);
    });

    [Fact]
    public void The_programs_help_has_two_examples_and_every_command()
    {
        var text = EntryHelp.Asked(["--help"])!;
        var examples = text.Split("Examples:\n")[1].Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.True(examples.Length >= 2);
        Assert.All(examples, static line => Assert.StartsWith("  tunnel2-entry", line, StringComparison.Ordinal));
        Assert.All(EntryWords.Lines, line => Assert.Contains($"\n  {line} ", text, StringComparison.Ordinal));
    }

    [Fact]
    public void The_version_is_a_number() => Assert.Matches("^tunnel2-entry [0-9]+\\.[0-9]+\\.[0-9]+", EntryHelp.Version);

    [Fact]
    public void The_usage_has_every_command_and_the_help_names_settings_that_there_are()
    {
        Assert.All(
            ["token create", "token list", "sessions list", "certificate create", "health", "help"],
            static command => Assert.Contains($"tunnel2-entry {command}", EntryHelp.Usage, StringComparison.Ordinal));

        var settings = EntryHelp.Asked(["help"])!.Split('\n')
            .Where(static line => line.StartsWith("  ", StringComparison.Ordinal) && (line.Contains(':') || line.Contains("Domain")))
            .Select(static line => line.Trim().Split(' ')[0]);
        Assert.All(
            settings.Where(static word => word.Contains("Listen", StringComparison.Ordinal) || word == "Domain"),
            static word => Assert.Contains(SettingsLoader.Entries, entry => entry.Path == word));
    }
}
