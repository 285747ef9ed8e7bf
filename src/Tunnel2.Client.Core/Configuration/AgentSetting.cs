
namespace Tunnel2.Client.Core.Configuration;

/// <summary>Where an agent's setting can be given.</summary>
[Flags]
internal enum AgentSettingPlaces
{
    /// <summary>On the command line.</summary>
    Flag = 1,

    /// <summary>In the environment.</summary>
    Variable = 2,

    /// <summary>In the environment, for <c>tunnel2 http</c> alone: in a file each tunnel has its own.</summary>
    VariableOfOneTunnel = 4,

    /// <summary>In a file of tunnels, at the top: for all tunnels.</summary>
    Top = 8,

    /// <summary>In a file, below one tunnel.</summary>
    Tunnel = 16,

    /// <summary>What is for a process, not for a tunnel.</summary>
    Process = Flag | Variable | Top,

    /// <summary>Everywhere.</summary>
    All = Process | Tunnel,
}

/// <summary>Reads the text of a setting into the options.</summary>
/// <returns>What is wrong with it, in one line; null: nothing.</returns>
internal delegate string? AgentSettingReader(string text, ref AgentOptions options);

/// <summary>One setting of the agent. Its flag, its key in a file and its environment variable have one name.</summary>
/// <param name="Flag">Such as <c>--uplinks</c>.</param>
/// <param name="Value">What help writes for the value; empty: it is a switch.</param>
/// <param name="Default">As help and README say it; empty: none.</param>
/// <param name="Words">What it does, for help and README.</param>
/// <param name="Places">Where it can be given.</param>
/// <param name="Read">Reads it; null: <see cref="AgentOptionsParser"/> reads it together with others.</param>
internal sealed record AgentSetting(
    string Flag,
    string Value,
    string Default,
    string Words,
    AgentSettingPlaces Places = AgentSettingPlaces.All,
    AgentSettingReader? Read = null)
{
    private static readonly char[] _marks = ['-', '<', '>'];

    /// <summary>Other flags for the same.</summary>
    public string[] Aliases { get; init; } = [];

    /// <summary>Whether it may be given several times, in a file as a list. Its text then has a line for each.</summary>
    public bool IsRepeatable { get; init; }

    /// <summary>Whether a file of tunnels may have a list of tables in place of its text. Its text then is that list in JSON.</summary>
    public bool IsTable { get; init; }

    /// <summary>Whether it says who may visit. Where it is given and empty it is a mistake: left out, it would let everybody in.</summary>
    public bool IsGuard { get; init; }

    /// <summary>Whether it is one of the older form, whose flags go with each other alone.</summary>
    public bool IsOlderForm { get; init; }

    /// <summary>The key in a file, where it is not the flag without its dashes: a list of several has the plural.</summary>
    public string? Key { get; init; }

    /// <summary>The key in a file.</summary>
    public string Name => Key ?? Flag.Trim(_marks);

    /// <summary>The environment variable, or null.</summary>
    public string? Variable => (Places & (AgentSettingPlaces.Variable | AgentSettingPlaces.VariableOfOneTunnel)) == 0
        ? null
        : "TUNNEL2_" + Name.ToUpperInvariant().Replace('-', '_');

    /// <summary>Whether it is on or off.</summary>
    public bool IsSwitch => Value.Length == 0;

    /// <summary>Whether there is only the variable.</summary>
    public bool IsVariableAlone => Places == AgentSettingPlaces.Variable;

    /// <summary>Whether it can be given in a place.</summary>
    public bool IsAt(AgentSettingPlaces place) => (Places & place) != 0;

    /// <summary>The row of README.</summary>
    public string ToReadmeRow()
    {
        var value = IsSwitch ? "" : " " + Value.Replace("|", " \\| ", StringComparison.Ordinal);
        var flags = Aliases.Prepend(Flag).Select(flag => $"`{flag}{value}`");
        var defaults = new[] { Variable is null ? "" : $"`{Variable}`", IsSwitch ? "off" : Default }.Where(static text => text.Length > 0);
        return $"| {string.Join(", ", flags)} | {string.Join(", then ", defaults.DefaultIfEmpty("–"))} | {Words} |";
    }

    /// <summary>The row of docs/client.md.</summary>
    public string ToPlacesRow()
    {
        var inFile = (IsAt(AgentSettingPlaces.Top), IsAt(AgentSettingPlaces.Tunnel)) switch
        {
            (true, true) => $"`{Name}`, at the top or in a tunnel",
            (true, false) => $"`{Name}`, at the top",
            (false, true) => $"`{Name}`, in a tunnel",
            _ => "–",
        };
        return $"| `{Flag}` | {(Variable is null ? "–" : $"`{Variable}`")} | {inFile} |";
    }
}
