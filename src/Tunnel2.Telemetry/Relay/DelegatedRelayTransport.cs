namespace Tunnel2.Telemetry.Relay;

/// <summary>
/// A connection with TLS. This project knows no TLS: the server and the client give the operations of their own transport. Sends, and so
/// the encryption, run on the thread pool, because the caller may be on a thread that serves others too.
/// </summary>
internal sealed class DelegatedRelayTransport : RelayTransport
{
    private readonly Func<Memory<byte>, ValueTask<int>> _receive;
    private readonly Func<ReadOnlyMemory<byte>, ValueTask> _send;
    private readonly Action _abort;
    private readonly Func<ValueTask> _dispose;

    /// <param name="receive">Receives at least one byte; throws IOException when the connection has failed.</param>
    /// <param name="send">Sends everything; throws likewise.</param>
    /// <param name="abort">Ends the connection at once; safe on any thread.</param>
    /// <param name="dispose">Gives the connection back; called once, last.</param>
    internal DelegatedRelayTransport(
        Func<Memory<byte>, ValueTask<int>> receive, Func<ReadOnlyMemory<byte>, ValueTask> send, Action abort, Func<ValueTask> dispose)
    {
        _receive = receive;
        _send = send;
        _abort = abort;
        _dispose = dispose;
    }

    /// <inheritdoc/>
    internal override bool SendsAtOnce => false;

    /// <inheritdoc/>
    internal override bool HasMore => false;

    /// <inheritdoc/>
    internal override async ValueTask<int> ReceiveAsync(Memory<byte> buffer, CancellationToken cancellationToken)
    {
        using CancellationTokenRegistration registration = AbortOn(cancellationToken);
        try
        {
            return await _receive(buffer).ConfigureAwait(false);
        }
        catch (IOException) when (cancellationToken.IsCancellationRequested)
        {
            throw new OperationCanceledException(cancellationToken);
        }
    }

    /// <inheritdoc/>
    internal override async ValueTask SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        using CancellationTokenRegistration registration = AbortOn(cancellationToken);
        try
        {
            await _send(bytes).ConfigureAwait(false);
        }
        catch (IOException) when (cancellationToken.IsCancellationRequested)
        {
            throw new OperationCanceledException(cancellationToken);
        }
    }

    /// <inheritdoc/>
    internal override int TrySend(ReadOnlySpan<byte> bytes) => 0;

    /// <inheritdoc/>
    internal override void Abort() => _abort();

    /// <inheritdoc/>
    public override ValueTask DisposeAsync() => _dispose();

    private CancellationTokenRegistration AbortOn(CancellationToken cancellationToken) =>
        cancellationToken.UnsafeRegister(static state => ((DelegatedRelayTransport)state!)._abort(), this);
}
