using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.CommandLine;

/// <summary>One option of a command. Immutable.</summary>
/// <param name="Flag">Such as <c>--server</c>.</param>
/// <param name="Value">What help writes for the value; empty: it is a switch.</param>
/// <param name="Words">What it does.</param>
internal sealed record CommandOption(string Flag, string Value, string Words)
{
    /// <summary>Other flags for the same.</summary>
    public string[] Aliases { get; init; } = [];

    /// <summary>The option of tunnels that has another name here; null: none.</summary>
    public string? InPlaceOf { get; init; }

    /// <summary>What help says about its default; empty: nothing.</summary>
    public string Default { get; init; } = "";

    /// <summary>Whether it may be given several times. Its value then has a line for each.</summary>
    public bool IsRepeatable { get; init; }

    /// <summary>Whether it is on or off.</summary>
    public bool IsSwitch => Value.Length == 0;

    /// <summary>What its value names.</summary>
    public ValueKind Kind => Value switch
    {
        "FILE" => ValueKind.File,
        "FOLDER" => ValueKind.Folder,
        _ => ValueKind.Text,
    };

    /// <summary>The values that are known as words; others may be possible too.</summary>
    public IEnumerable<string> Choices => Value.Contains('|', StringComparison.Ordinal)
        ? Value.Split('|').Where(static word => word.All(static c => char.IsAsciiLetterLower(c) || char.IsAsciiDigit(c)))
        : [];

    /// <summary>The flag and its aliases.</summary>
    public IEnumerable<string> Names => Aliases.Prepend(Flag);

    /// <summary>An agent's setting as an option.</summary>
    public static CommandOption Of(AgentSetting setting)
    {
        string[] defaults = [.. new[] { setting.Variable ?? "", setting.Default }.Where(static text => text.Length > 0)];
        return new CommandOption(setting.Flag, setting.Value, setting.Words)
        {
            Aliases = setting.Aliases,
            IsRepeatable = setting.IsRepeatable,
            Default = setting.IsSwitch ? "" : string.Join(", then ", defaults),
        };
    }
}
