namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// The bytes of a connection to the backend: a plain socket or TLS over one. One receive and one send may be pending at a time;
/// <see cref="Abort"/> may come from any thread and makes them fail with an <see cref="IOException"/>.
/// </summary>
internal abstract class BackendTransport : IDisposable
{
    /// <summary>Receives at least one byte; an empty buffer only waits for one, or for the end.</summary>
    /// <returns>Bytes received; 0 at the orderly end (and for an empty buffer).</returns>
    public abstract ValueTask<int> ReceiveAsync(Memory<byte> buffer);

    /// <summary>Whether a receive into an empty buffer costs nothing, so that a wait of any length can do without a buffer.</summary>
    public virtual bool WaitsFreely => false;

    /// <summary>Sends everything.</summary>
    public abstract ValueTask SendAsync(ReadOnlyMemory<byte> buffer);

    /// <summary>Ends the sending direction in order.</summary>
    public abstract void ShutdownSend();

    /// <summary>
    /// Whether nothing has arrived on an idle connection, not even its end, also of what the pending wait has not been told yet. Costs a system call.
    /// </summary>
    public abstract bool IsIdleAndOpen();

    /// <summary>
    /// Whether bytes have arrived on an idle connection, and not only its end. Asked when its wait has ended, or when it is not idle any
    /// more; the connection is not used again.
    /// </summary>
    public abstract bool HasBytes();

    /// <summary>Ends the connection at once.</summary>
    public abstract void Abort();

    /// <summary>
    /// Ends a connection on which nothing is under way by a reset: no address stays taken for a minute, as it would where a connection serves one
    /// request each.
    /// </summary>
    public abstract void Discard();

    /// <inheritdoc/>
    public abstract void Dispose();
}
