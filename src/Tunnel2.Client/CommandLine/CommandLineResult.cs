using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.TunnelFiles;

namespace Tunnel2.Client.CommandLine;

/// <summary>What a command line asks for.</summary>
internal enum CommandLineRequest
{
    /// <summary>Run an agent with the options.</summary>
    Run = 0,

    /// <summary>Print the help text.</summary>
    Help,

    /// <summary>Print the version.</summary>
    Version,

    /// <summary>Nothing, because it has a mistake.</summary>
    Mistake,
}

/// <summary>A checked command line.</summary>
internal sealed record CommandLineResult
{
    public static CommandLineResult Help { get; } = new() { Request = CommandLineRequest.Help };

    public static CommandLineResult Version { get; } = new() { Request = CommandLineRequest.Version };

    public required CommandLineRequest Request { get; init; }

    /// <summary>The tunnel to run, if there is exactly one; otherwise null.</summary>
    public AgentOptions? Options => Tunnels.Count == 1 ? Tunnels[0] : null;

    /// <summary>The tunnels to run; only with <see cref="CommandLineRequest.Run"/>.</summary>
    public IReadOnlyList<AgentOptions> Tunnels { get; init; } = [];

    /// <summary>The file that the tunnels come from; null: they come from the command line.</summary>
    public TunnelFileSource? File { get; init; }

    /// <summary>The folder that the agent itself serves; null: there is a service.</summary>
    public string? ServedFolder { get; init; }

    /// <summary>Whether folders without an index are listed.</summary>
    public bool ListsFolder { get; init; }

    /// <summary>
    /// Whether a terminal may show the tunnel on a live screen: it is one of HTTP that the command line describes, and no flag asks for
    /// lines.
    /// </summary>
    public bool MayShowScreen { get; init; }

    /// <summary>Whether nothing says which server: not the command line, a file, the environment or a login.</summary>
    public bool NamesNoServer { get; init; }

    /// <summary>
    /// The mistakes in one line, or one line each for mistakes in a file; only with <see cref="CommandLineRequest.Mistake"/>.
    /// </summary>
    public string? Mistake { get; init; }
}
