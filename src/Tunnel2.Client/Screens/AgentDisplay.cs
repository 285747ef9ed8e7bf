using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Terminals;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Screens;

/// <summary>
/// A tunnel's screen with what belongs to it: its events, and the error output, which waits until the terminal is the shell's again.
/// </summary>
internal sealed class AgentDisplay : IAsyncDisposable
{
    private static readonly TimeSpan _lastLinesLimit = TimeSpan.FromSeconds(1);

    private readonly AgentScreen _content;
    private readonly TerminalScreen _screen;
    private readonly TextWriter _output;
    private readonly HeldWriter _error;
    private readonly TimeProvider _time;

    /// <summary>Begins to show it.</summary>
    /// <param name="terminal">The terminal; this object disposes of it.</param>
    /// <param name="options">The tunnel.</param>
    /// <param name="lines">Writes lines where the screen cannot be shown any more.</param>
    /// <param name="output">Gets the last lines.</param>
    /// <param name="error">Waits until the screen is gone.</param>
    /// <param name="time">The clock.</param>
    /// <param name="hasColors">Whether colours may be used.</param>
    public AgentDisplay(
        ITerminal terminal, AgentOptions options, IAgentEventFormatter lines, TextWriter output, HeldWriter error, TimeProvider time,
        bool hasColors)
    {
        _output = output;
        _error = error;
        _time = time;
        _content = new AgentScreen(options, lines, time, hasColors);
        _screen = new TerminalScreen(terminal, _content, time, hasColors);
        _content.IsShown = () => !_screen.IsOver;
        _error.Hold();
        _screen.Start();
    }

    /// <summary>What the events are written with.</summary>
    public IAgentEventFormatter Events => _content;

    /// <summary>Gives the terminal back, and writes what a person wants to read then. For at most a second or two.</summary>
    public async ValueTask DisposeAsync()
    {
        _screen.Dispose();

        // On the pool and not for long: a terminal that takes nothing must not hold up the end.
        await Task.Run(WriteLastLines).WaitAsync(_lastLinesLimit, _time).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    private void WriteLastLines()
    {
        try
        {
            foreach (string line in _content.Summary())
            {
                _output.WriteLine(PlainText.Clean(line, 2 * PlainText.MaxLength));
            }

            _output.Flush();
            _error.Release();
            if (_screen.Fault is { } fault)
            {
                _error.WriteLine($"tunnel2: the live screen failed: {fault}");
            }
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            // The terminal is gone.
        }
    }
}
