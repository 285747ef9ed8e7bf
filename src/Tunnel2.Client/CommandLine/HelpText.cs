using System.Reflection;
using System.Text;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.CommandLine;

/// <summary>The texts of <c>--help</c>, <c>--version</c> and mistakes, made of <see cref="CommandTable"/>.</summary>
internal static class HelpText
{
    private const int Column = 26;
    private const int Width = 140;

    /// <summary>The lines after a mistake that is no command's own.</summary>
    public static string Usage =>
        $"""
        Usage: tunnel2 http <port | host:port | url> [flags]
               tunnel2 {string.Join(" | ", CommandTable.Words.Skip(1).SkipLast(1))} …
               tunnel2 --dev-session-id GUID --backend-host H --backend-port P --tunnel-host H --tunnel-port P [flags]
        Run 'tunnel2 help' for the commands, 'tunnel2 help COMMAND' for the flags of one.
        """;

    /// <summary>The help of the whole program.</summary>
    public static string Help =>
        "tunnel2 gives a private service a public address.\n\nUsage:\n"
        + string.Concat(CommandTable.All.Select(static command => Row(command.Usage, command.Summary, 51)))
        + "\n"
        + Examples(["tunnel2 http 3000", .. CommandTable.Find("http")!.Examples])
        + Text(CommandTable.Find("http")!)
        + Flags(CommandTable.AgentOptions)
        + Text(CommandTable.Find("start")!)
        + Variables
        + OlderForm
        + ExitCodes(static _ => true);

    /// <summary>Such as <c>0.1.0</c>.</summary>
    public static string VersionNumber
    {
        get
        {
            Assembly assembly = typeof(HelpText).Assembly;
            string version = assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion
                ?? assembly.GetName().Version?.ToString()
                ?? "unknown";
            return version.Split('+')[0];
        }
    }

    /// <summary>Such as <c>tunnel2 0.1.0</c>.</summary>
    public static string Version => $"tunnel2 {VersionNumber}";

    /// <summary>The help of a command, of all that begin with a word, or of the program.</summary>
    public static string For(ParsedLine line) =>
        line.Command is { } command ? For(command) : line.Group is { } group ? ForGroup(group) : Help;

    /// <summary>The help of a command.</summary>
    public static string For(CommandSpec command) => command.Name == "help"
        ? Help
        : $"Usage: {command.Usage}\n\n{char.ToUpperInvariant(command.Summary[0])}{command.Summary[1..]}.\n\n"
        + Examples(command.Examples)
        + Text(command)
        + Flags(command.ShownOptions)
        + (command.RunsTunnels ? Variables : "")
        + ExitCodes(code => code is 0 or 2 || command.ExitCodes.Contains(code));

    /// <summary>The lines after a mistake in a line's command.</summary>
    public static string UsageFor(ParsedLine line) => line.Command is { Name: not "help" } command
        ? $"Usage: {command.Usage}\nRun 'tunnel2 help {command.Name}' for the flags."
        : line.Group is { } group
            ? string.Join('\n', CommandTable.InGroup(group).Select(static (one, i) => (i == 0 ? "Usage: " : "       ") + one.Usage))
            : Usage;

    private static string ForGroup(string group) =>
        "Usage:\n" + string.Concat(CommandTable.InGroup(group).Select(static command => Row(command.Usage, command.Summary, 51)))
        + "\n" + Examples(CommandTable.InGroup(group).ToArray() is [var only]
            ? only.Examples
            : [.. CommandTable.InGroup(group).Select(static command => command.Examples[0])])
        + $"'tunnel2 help {group} {CommandTable.InGroup(group).First().Word}' has the flags.\n";

    private static string Examples(string[] examples) =>
        "Examples:\n" + string.Concat(examples.Select(static example => $"  {example}\n")) + "\n";

    private static string Text(CommandSpec command) => command.Text.Length == 0 ? "" : command.Text.ReplaceLineEndings("\n") + "\n";

    private static string Flags(IEnumerable<CommandOption> options) => "Flags:\n" + string.Concat(options.Select(Rows))
        + Row("-v, --version", CommandTable.Version.Words) + Row("-h, -?, --help", CommandTable.Help.Words) + "\n";

    private static string OlderForm =>
        "The older form:\n"
        + "  tunnel2 --dev-session-id GUID --backend-host H --backend-port P --tunnel-host H --tunnel-port P [flags]\n\n"
        + string.Concat(CommandTable.OlderOptions.Select(Rows)) + "\n";

    private static string Variables => "Environment variables, for what neither a flag nor the file says:\n"
        + Row("as the flags", Names(static setting =>
            setting.IsAt(AgentSettingPlaces.Variable) && !setting.IsSwitch && !setting.IsVariableAlone))
        + Row("of one tunnel", Names(static setting => setting.IsAt(AgentSettingPlaces.VariableOfOneTunnel)))
        + Row("1 or 0", Names(static setting => setting.Variable is not null && setting.IsSwitch))
        + string.Concat(AgentSettingTable.All.Where(static setting => setting.IsVariableAlone)
            .Select(static setting => Row(setting.Variable!, setting.Words)))
        + string.Concat(AgentSettingTable.OtherVariables.Select(static variable => Row(variable.Name, variable.Words))) + "\n";

    private static string Names(Func<AgentSetting, bool> isMeant) =>
        string.Join(", ", AgentSettingTable.All.Where(isMeant).Select(static setting => setting.Variable));

    private static string ExitCodes(Func<int, bool> isMeant) => "Exit codes:\n" + string.Concat(
        CommandTable.ExitCodes.Where(code => isMeant(code.Code)).Select(static code => Row($"{code.Code}", code.Words, 5)));

    private static string Rows(CommandOption option) =>
        Row($"{option.Flag} {option.Value}", option.Words + (option.Default.Length == 0 ? "" : $" (default: {option.Default})"))
        + string.Concat(option.Aliases.Select(alias => Row($"{alias} {option.Value}", $"the same as {option.Flag}")));

    /// <summary>A name, and its meaning from a fixed column on, in lines of at most 140 characters.</summary>
    private static string Row(string name, string words, int column = Column)
    {
        var text = new StringBuilder("  ").Append(name.TrimEnd());
        int length = text.Length;
        if (length > column - 1)
        {
            text.Append('\n');
            length = 0;
        }

        text.Append(' ', column - length);
        length = column;
        foreach (string word in words.Split(' '))
        {
            if (length + word.Length > Width)
            {
                text.Length--;
                text.Append('\n').Append(' ', column);
                length = column;
            }

            text.Append(word).Append(' ');
            length += word.Length + 1;
        }

        text.Length--;
        return text.Append('\n').ToString();
    }
}
