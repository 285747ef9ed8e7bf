using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.TunnelFiles;

/// <summary>A value and where it stands.</summary>
/// <param name="Text">As it was written.</param>
/// <param name="Line">From 1.</param>
internal readonly record struct TunnelFileValue(string Text, int Line);

/// <summary>Something wrong in the file.</summary>
/// <param name="Line">From 1.</param>
/// <param name="Message">One line; never a value that may be a secret.</param>
internal sealed record TunnelFileMistake(int Line, string Message);

/// <summary>The values of one tunnel, or those at the top.</summary>
internal sealed class TunnelFileSection
{
    public TunnelFileSection(int line)
    {
        Line = line;
    }

    /// <summary>Where it begins, from 1.</summary>
    public int Line { get; }

    public Dictionary<AgentSetting, TunnelFileValue> Values { get; } = [];
}

/// <summary>A file of tunnels as it was written, before the values are judged.</summary>
/// <param name="Top">What holds for all tunnels.</param>
/// <param name="Tunnels">The tunnels, in their order.</param>
/// <param name="Mistakes">All that is wrong with the form, in the order of lines.</param>
internal sealed record TunnelFile(
    TunnelFileSection Top, IReadOnlyList<TunnelFileSection> Tunnels, IReadOnlyList<TunnelFileMistake> Mistakes);
