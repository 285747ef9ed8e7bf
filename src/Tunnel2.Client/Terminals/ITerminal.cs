namespace Tunnel2.Client.Terminals;

/// <summary>A terminal that a screen is drawn on. Not thread-safe, except for <see cref="Size"/>.</summary>
internal interface ITerminal : IDisposable
{
    /// <summary>How many columns and rows it has now.</summary>
    (int Columns, int Rows) Size { get; }

    /// <summary>Whether this process may read keys and draw: a shell has not put it into the background.</summary>
    bool IsForeground { get; }

    /// <summary>Keys come one by one and are not shown. Signals by Ctrl+C and Ctrl+Z stay.</summary>
    void EnterRaw();

    /// <summary>Puts back what <see cref="EnterRaw"/> has changed.</summary>
    void LeaveRaw();

    /// <summary>Reads keys.</summary>
    /// <param name="keys">Where to.</param>
    /// <param name="wait">How long to wait for the first one.</param>
    /// <returns>How many bytes; 0: none in that time; -1: there are no keys to be read any more.</returns>
    int Read(Span<byte> keys, TimeSpan wait);

    /// <summary>Writes what the terminal takes.</summary>
    /// <param name="bytes">The bytes.</param>
    /// <param name="wait">How long to wait until it takes any.</param>
    /// <returns>How many bytes it has taken; 0: none in that time; -1: it is gone.</returns>
    int Write(ReadOnlySpan<byte> bytes, TimeSpan wait);

    /// <summary>Throws away what was written and not read yet on the other side, to have room for what matters.</summary>
    void Discard();
}
