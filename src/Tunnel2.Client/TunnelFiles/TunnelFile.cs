using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.TunnelFiles;

/// <summary>A value and its line.</summary>
/// <param name="Text">As it was written.</param>
/// <param name="Line">The line, from 1.</param>
internal readonly record struct TunnelFileValue(string Text, int Line);

/// <summary>A mistake in the file.</summary>
/// <param name="Line">The line, from 1.</param>
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
