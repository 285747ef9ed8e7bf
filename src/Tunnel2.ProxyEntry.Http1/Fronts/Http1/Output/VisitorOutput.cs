namespace Tunnel2.ProxyEntry.Fronts.Http1.Output;

/// <summary>
/// The sending direction of a visitor's connection: bytes are gathered, then sent by <see cref="FlushAsync"/>. One writer at a time. It
/// never throws for a visitor who is gone.
/// </summary>
internal abstract class VisitorOutput
{
    /// <summary>
    /// Room to write into. What was written there counts only once <see cref="Advance"/> has been called; until then it can be written
    /// anew.
    /// </summary>
    /// <param name="size">Bytes that are needed at least.</param>
    public abstract Span<byte> GetSpan(int size);

    /// <summary>Takes bytes that were written into the last span.</summary>
    public abstract void Advance(int count);

    /// <summary>Copies bytes.</summary>
    public abstract void Write(ReadOnlySpan<byte> data);

    /// <summary>Sends all that was gathered.</summary>
    /// <returns>False when the visitor is gone.</returns>
    public abstract ValueTask<bool> FlushAsync();

    /// <summary>
    /// Sends bytes behind all that was gathered, without copying them where that can be. They are borrowed until it is done.
    /// </summary>
    /// <returns>False when the visitor is gone.</returns>
    public abstract ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data);

    /// <summary>Says, behind all that was sent, that nothing more will come, and leaves the other direction open.</summary>
    /// <returns>False where that cannot be said without ending the connection; then nothing has been done.</returns>
    public abstract ValueTask<bool> EndAsync();

    /// <summary>Gives back what is held. Nothing may be under way.</summary>
    public abstract void Release();
}
