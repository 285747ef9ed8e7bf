namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// The bytes of a connection to the backend: a plain socket or TLS over one. One receive and one send may be pending at a time;
/// <see cref="Abort"/> may come from any thread and makes them fail with an <see cref="IOException"/>.
/// </summary>
internal abstract class BackendTransport : IDisposable
{
    /// <summary>Receives at least one byte; an empty buffer only waits for one.</summary>
    /// <returns>Bytes received; 0 at the orderly end (and for an empty buffer).</returns>
    public abstract ValueTask<int> ReceiveAsync(Memory<byte> buffer);

    /// <summary>Whether a receive into an empty buffer costs nothing, so that a wait of any length can do without a buffer.</summary>
    public virtual bool WaitsFreely => false;

    /// <summary>Sends everything.</summary>
    public abstract ValueTask SendAsync(ReadOnlyMemory<byte> buffer);

    /// <summary>Ends the sending direction in order.</summary>
    public abstract void ShutdownSend();

    /// <summary>
    /// Whether an idle connection is still good: nothing has arrived on it, not even its end. Costs a system call.
    /// </summary>
    public abstract bool IsIdleAndOpen();

    /// <summary>Ends the connection at once.</summary>
    public abstract void Abort();

    /// <inheritdoc/>
    public abstract void Dispose();
}
