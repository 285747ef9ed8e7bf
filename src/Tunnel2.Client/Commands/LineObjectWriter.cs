using System.Text;

namespace Tunnel2.Client.Commands;

/// <summary>
/// Writes each line of a text as one object of JSON; a last line without an end when it is disposed of. For one caller at a time.
/// </summary>
internal sealed class LineObjectWriter(CommandConsole console) : TextWriter
{
    private readonly StringBuilder _line = new();

    /// <inheritdoc/>
    public override Encoding Encoding => console.Output.Encoding;

    /// <inheritdoc/>
    public override async Task WriteAsync(ReadOnlyMemory<char> buffer, CancellationToken cancellationToken = default)
    {
        while (buffer.Span.IndexOf('\n') is >= 0 and var end)
        {
            _line.Append(buffer.Span[..end]);
            await EndLineAsync();
            buffer = buffer[(end + 1)..];
        }

        _line.Append(buffer.Span);
    }

    /// <inheritdoc/>
    public override async ValueTask DisposeAsync()
    {
        if (_line.Length > 0)
        {
            await EndLineAsync();
        }

        await base.DisposeAsync();
    }

    private async Task EndLineAsync()
    {
        string line = _line.ToString().TrimEnd('\r');
        _line.Clear();
        await console.WriteJsonAsync(json => json.WriteString("line", line));
    }
}
