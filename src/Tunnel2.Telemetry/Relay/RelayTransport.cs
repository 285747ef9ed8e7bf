namespace Tunnel2.Telemetry.Relay;

/// <summary>
/// The bytes of one connection between a relay and its client, plain or encrypted. One receive and one send at a time;
/// <see cref="Abort"/> may come from any thread.
/// </summary>
internal abstract class RelayTransport : IAsyncDisposable
{
    /// <summary>Whether <see cref="TrySend"/> can send. Otherwise <see cref="SendAsync"/> is the only way.</summary>
    internal abstract bool SendsAtOnce { get; }

    /// <summary>Whether bytes are at hand, as far as that is known: false after each receive of an encrypted connection.</summary>
    internal abstract bool HasMore { get; }

    /// <summary>Receives at least one byte.</summary>
    /// <returns>Bytes received; 0 when the peer has closed.</returns>
    /// <exception cref="IOException">The connection failed or was aborted.</exception>
    /// <exception cref="OperationCanceledException">It was cancelled; the connection is not usable after that.</exception>
    internal abstract ValueTask<int> ReceiveAsync(Memory<byte> buffer, CancellationToken cancellationToken);

    /// <summary>Sends all bytes; the exceptions are those of <see cref="ReceiveAsync"/>.</summary>
    internal abstract ValueTask SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken);

    /// <summary>Sends what the system takes without waiting.</summary>
    /// <returns>Bytes sent, 0 when it takes none now, −1 when the connection has failed.</returns>
    internal abstract int TrySend(ReadOnlySpan<byte> bytes);

    /// <summary>Ends the connection; pending operations fail.</summary>
    internal abstract void Abort();

    /// <summary>Gives all of it back, after the last operation has ended.</summary>
    public abstract ValueTask DisposeAsync();
}
