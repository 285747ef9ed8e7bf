using Tunnel2.Client.Core.Configuration;

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

    /// <summary>
    /// The mistakes in one line, or one line each for mistakes in a file; only with <see cref="CommandLineRequest.Mistake"/>.
    /// </summary>
    public string? Mistake { get; init; }
}
