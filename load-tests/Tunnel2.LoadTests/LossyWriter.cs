using System.Text;

namespace Tunnel2.LoadTests;

/// <summary>
/// Passes lines on until that fails (a full disk, a reader that is gone): the run and its report are worth more than its progress.
/// </summary>
internal sealed class LossyWriter(TextWriter inner) : TextWriter
{
    private bool _isGone;

    /// <inheritdoc/>
    public override Encoding Encoding => inner.Encoding;

    /// <inheritdoc/>
    public override void Write(char value) => Try(() => inner.Write(value));

    /// <inheritdoc/>
    public override void WriteLine(string? value) => Try(() => inner.WriteLine(value));

    /// <inheritdoc/>
    public override Task WriteLineAsync(string? value)
    {
        WriteLine(value);
        return Task.CompletedTask;
    }

    /// <inheritdoc/>
    public override void Flush() => Try(inner.Flush);

    private void Try(Action write)
    {
        if (_isGone)
        {
            return;
        }

        try
        {
            write();
        }
        catch (IOException)
        {
            _isGone = true;
        }
    }
}
