using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Terminals;

namespace Tunnel2.Client.Commands;

/// <summary>What a command that runs no tunnel is given. Immutable.</summary>
/// <param name="Words">The words after the program's name.</param>
/// <param name="Line">The same, sorted.</param>
/// <param name="Environment">Returns the value of an environment variable, or null.</param>
/// <param name="Output">The standard output.</param>
/// <param name="Error">The error output.</param>
/// <param name="Time">The clock.</param>
/// <param name="OpenTerminal">Returns the terminal, or null.</param>
internal sealed record CommandConsole(
    string[] Words,
    ParsedLine Line,
    Func<string, string?> Environment,
    TextWriter Output,
    TextWriter Error,
    TimeProvider Time,
    Func<ITerminal?>? OpenTerminal)
{
    /// <summary>Makes what runs a tunnel, for a number of event loops.</summary>
    public required Func<int?, IAgentRunner> CreateRunner { get; init; }

    /// <summary>Returns where a person answers questions; null: no person is there.</summary>
    public Func<TextReader?>? OpenInput { get; init; }

    /// <summary>Reads a line that is not shown; null: no person is there.</summary>
    public Func<string?>? ReadSecret { get; init; }

    /// <summary>Reads the first line of an input that is no terminal; null, or returns null: it is one, or has no line.</summary>
    public Func<string?>? ReadPiped { get; init; }

    /// <summary>Leaves Ctrl+C to another program of the terminal until the result is disposed of; null: there is no terminal.</summary>
    public Func<IDisposable>? LeaveInterrupts { get; init; }

    /// <summary>Waits for what a person types, or another program writes: that may never come, and a stop does not wait for it.</summary>
    /// <exception cref="OperationCanceledException"><paramref name="stop"/>.</exception>
    public static Task<string?> WaitAsync(Func<string?> read, CancellationToken stop) =>
        Task.Run(read, CancellationToken.None).WaitAsync(stop);

    /// <summary>Whether a person types what is read.</summary>
    public bool IsAsked => OpenInput?.Invoke() is not null;

    /// <summary>Whether <c>--json</c> was given.</summary>
    public bool IsJson => Line.Has("--json");
}
