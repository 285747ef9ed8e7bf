using System.Text;

namespace Tunnel2.Client.Live;

/// <summary>Prints the table: over the previous one on a terminal, otherwise after it. Not thread-safe.</summary>
internal sealed class TopScreen
{
    private readonly TextWriter _output;
    private readonly Func<(int Columns, int Rows)>? _size;
    private bool _isUsed;

    /// <param name="output">The output.</param>
    /// <param name="size">Returns the terminal's size, or null if the output is not a terminal.</param>
    public TopScreen(TextWriter output, Func<(int Columns, int Rows)>? size)
    {
        _output = output;
        _size = size;
    }

    /// <summary>The screen of this process.</summary>
    /// <param name="output">The output.</param>
    /// <param name="isPlain">Whether what is shown is never drawn over.</param>
    public static TopScreen OfProcess(TextWriter output, bool isPlain) =>
        new(output, isPlain || Console.IsOutputRedirected ? null : static () => (Console.WindowWidth, Console.WindowHeight));

    /// <summary>How many lines fit, or 0 for any number.</summary>
    public int Rows => _size?.Invoke().Rows ?? 0;

    /// <summary>Writes a line after those before.</summary>
    /// <exception cref="IOException">The output's reader has left.</exception>
    public void Add(string line)
    {
        _output.WriteLine(line);
        _output.Flush();
    }

    /// <summary>Shows the lines.</summary>
    /// <exception cref="IOException">The output's reader has left.</exception>
    public void Show(IReadOnlyList<string> lines, bool isLast)
    {
        var text = new StringBuilder();
        if (_size is null || isLast)
        {
            text.Append(_isUsed ? Environment.NewLine : "").AppendJoin(Environment.NewLine, lines).Append(Environment.NewLine);
        }
        else
        {
            // Moves to the top, rewrites each line up to its end, then clears the rest: so nothing flickers.
            int columns = Math.Max(20, _size().Columns);
            text.Append(_isUsed ? "\x1b[H" : "\x1b[2J\x1b[H");
            text.AppendJoin("\x1b[K\r\n", lines.Select(line => line.Length > columns ? line[..columns] : line)).Append("\x1b[K\x1b[J");
        }

        _isUsed = true;
        _output.Write(text);
        _output.Flush();
    }
}
