using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.TunnelFiles;

/// <summary>A value and its line.</summary>
/// <param name="Text">As it was written.</param>
/// <param name="Line">The line, from 1.</param>
internal readonly record struct TunnelFileValue(string Text, int Line);

/// <summary>A mistake in the file.</summary>
/// <param name="Line">The line, from 1; 0: it is not in the file, but in the environment or on the command line.</param>
/// <param name="Message">One line of text; never a value that may be a secret.</param>
internal sealed record TunnelFileMistake(int Line, string Message);

/// <summary>The values of one tunnel, or of the top.</summary>
internal sealed class TunnelFileSection
{
    public TunnelFileSection(int line)
    {
        Line = line;
    }

    /// <summary>The line where it begins, from 1.</summary>
    public int Line { get; }

    public Dictionary<AgentSetting, TunnelFileValue> Values { get; } = [];
}

/// <summary>A file of tunnels as it was written, before its values are checked.</summary>
/// <param name="Top">The values for all tunnels.</param>
/// <param name="Tunnels">The tunnels, in their order.</param>
/// <param name="Mistakes">All mistakes of the form, in the order of lines.</param>
internal sealed record TunnelFile(
    TunnelFileSection Top, IReadOnlyList<TunnelFileSection> Tunnels, IReadOnlyList<TunnelFileMistake> Mistakes);

/// <summary>A tunnel of a file, checked.</summary>
/// <param name="Options">What it comes to.</param>
/// <param name="Input">The texts that it was made of, with where each comes from.</param>
/// <param name="IsNamed">Whether the file names it; otherwise each reading draws another name.</param>
internal sealed record LoadedTunnel(AgentOptions Options, AgentOptionsInput Input, bool IsNamed)
{
    /// <summary>Whether both come to the same tunnel. What concerns the whole process is not compared.</summary>
    public bool IsSameAs(LoadedTunnel other) => Own(Input).SequenceEqual(Own(other.Input));

    /// <summary>The settings of the whole process that differ, by their names.</summary>
    public IEnumerable<string> ProcessDifferences(LoadedTunnel other)
    {
        var ours = OfProcess(Input).ToDictionary(static pair => pair.Flag, static pair => pair.Text);
        var theirs = OfProcess(other.Input).ToDictionary(static pair => pair.Flag, static pair => pair.Text);
        return ours.Keys.Union(theirs.Keys)
            .Where(flag => ours.GetValueOrDefault(flag) != theirs.GetValueOrDefault(flag))
            .Select(static flag => flag.TrimStart('-')).Order(StringComparer.Ordinal);
    }

    private static IEnumerable<(string Flag, string Text)> Own(AgentOptionsInput input) =>
        input.All.Where(static value => !IsOfProcess(value.Flag)).Select(static value => (value.Flag, value.Text));

    private static IEnumerable<(string Flag, string Text)> OfProcess(AgentOptionsInput input) =>
        input.All.Where(static value => IsOfProcess(value.Flag)).Select(static value => (value.Flag, value.Text));

    private static bool IsOfProcess(string flag) =>
        AgentSettingTable.All.FirstOrDefault(setting => setting.Flag == flag) is { } setting && !setting.IsAt(AgentSettingPlaces.Tunnel);
}

/// <summary>What a file came to: its tunnels, or everything that is wrong.</summary>
/// <param name="Tunnels">The tunnels; empty when there are mistakes.</param>
/// <param name="Mistakes">All mistakes, in the order of lines.</param>
internal sealed record TunnelFileLoad(IReadOnlyList<LoadedTunnel> Tunnels, IReadOnlyList<TunnelFileMistake> Mistakes);

/// <summary>A file that tunnels run from, to be read again.</summary>
/// <param name="Path">Its path.</param>
/// <param name="Flags">The values of the command line, which go before those of the file.</param>
/// <param name="Text">Its text when it was read.</param>
/// <param name="Tunnels">Its tunnels then.</param>
internal sealed record TunnelFileSource(string Path, AgentOptionsInput Flags, string Text, IReadOnlyList<LoadedTunnel> Tunnels);
