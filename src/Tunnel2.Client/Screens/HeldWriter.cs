using System.Text;

namespace Tunnel2.Client.Screens;

/// <summary>
/// The error output, which waits while a screen has the terminal: there it would be unreadable and then gone. What waits is bounded; of
/// more only the beginning is kept. Thread-safe.
/// </summary>
internal sealed class HeldWriter : TextWriter
{
    private const int MostCharacters = 64 * 1024;

    private readonly Lock _gate = new();
    private readonly TextWriter _inner;
    private readonly StringBuilder _text = new();
    private bool _isHeld;

    /// <param name="inner">The output itself; not disposed of.</param>
    public HeldWriter(TextWriter inner)
    {
        _inner = inner;
        NewLine = inner.NewLine;
    }

    /// <inheritdoc/>
    public override Encoding Encoding => _inner.Encoding;

    /// <summary>What is written from now on waits.</summary>
    public void Hold()
    {
        lock (_gate)
        {
            _isHeld = true;
        }
    }

    /// <summary>Writes what has waited, and then what comes.</summary>
    /// <exception cref="IOException">The output is gone.</exception>
    public void Release()
    {
        lock (_gate)
        {
            _isHeld = false;
            _inner.Write(_text.ToString());
            _inner.Flush();
            _text.Clear();
        }
    }

    /// <inheritdoc/>
    public override void Write(char value) => Write(value.ToString());

    /// <inheritdoc/>
    public override void Write(char[] buffer, int index, int count) => Write(new string(buffer, index, count));

    /// <inheritdoc/>
    public override void WriteLine(string? value) => Write(value + NewLine);

    /// <inheritdoc/>
    public override void Write(string? value)
    {
        string text = value ?? "";
        lock (_gate)
        {
            if (_isHeld)
            {
                _text.Append(text, 0, Math.Min(text.Length, MostCharacters - _text.Length));
            }
            else
            {
                _inner.Write(text);
            }
        }
    }
}
