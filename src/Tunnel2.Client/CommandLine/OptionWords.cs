using System.Text.RegularExpressions;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.CommandLine;

/// <summary>
/// Sentences about a session are written for commands that run tunnels, and name their options. A command that lacks such an option says
/// instead what it has: an option of another name, or the variable.
/// </summary>
internal static partial class OptionWords
{
    /// <summary>A sentence in the words of a command.</summary>
    public static string Of(CommandSpec command, string sentence) => Flag().Replace(sentence, match =>
        command.AllOptions.Any(option => option.Names.Contains(match.Value))
            ? match.Value
            : command.AllOptions.FirstOrDefault(option => option.InPlaceOf == match.Value)?.Flag
                ?? AgentSettingTable.All.FirstOrDefault(setting => setting.Flag == match.Value)?.Variable
                ?? match.Value);

    [GeneratedRegex("(?<![A-Za-z0-9-])--[a-z][a-z0-9-]*")]
    private static partial Regex Flag();
}
