namespace Tunnel2.ProxyEntry.Fronts.Http1.Output;

/// <summary>
/// The sending direction of a visitor's connection: bytes are gathered, and <see cref="FlushAsync"/> sends them. One writer at a time. It
/// never throws because a visitor is gone.
/// </summary>
internal abstract class VisitorOutput
{
    /// <summary>Memory to write into. The bytes count only after <see cref="Advance"/>; until then they can be overwritten.</summary>
    /// <param name="size">How many bytes are needed at least.</param>
    public abstract Span<byte> GetSpan(int size);

    /// <summary>Commits bytes that were written into the last span.</summary>
    public abstract void Advance(int count);

    /// <summary>Copies bytes.</summary>
    public abstract void Write(ReadOnlySpan<byte> data);

    /// <summary>Sends all gathered bytes.</summary>
    /// <returns>False when the visitor is gone.</returns>
    public abstract ValueTask<bool> FlushAsync();

    /// <summary>Sends bytes after all gathered ones, without a copy if possible. They are borrowed until the call completes.</summary>
    /// <returns>False when the visitor is gone.</returns>
    public abstract ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data);

    /// <summary>Ends this direction after all sent bytes; the other direction stays open.</summary>
    /// <returns>False when only the whole connection can be ended; then nothing was done.</returns>
    public abstract ValueTask<bool> EndAsync();

    /// <summary>Gives back all buffers. No operation may be running.</summary>
    public abstract void Release();
}
