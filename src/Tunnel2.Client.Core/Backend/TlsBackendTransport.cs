using System.Net.Security;
using System.Net.Sockets;
using System.Runtime.CompilerServices;

namespace Tunnel2.Client.Core.Backend;

/// <summary>TLS to the backend.</summary>
internal sealed class TlsBackendTransport : BackendTransport
{
    private readonly Socket _socket;
    private readonly SslStream _tls;
    private readonly byte[] _one = new byte[1];
    private int _aborted;

    public TlsBackendTransport(Socket socket, SslStream tls)
    {
        _socket = socket;
        _tls = tls;
    }

    /// <inheritdoc/>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public override async ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        try
        {
            return await _tls.ReadAsync(buffer).ConfigureAwait(false);
        }
        catch (ObjectDisposedException exception)
        {
            throw new IOException("The connection was aborted.", exception);
        }
    }

    /// <inheritdoc/>
    public override async ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        try
        {
            await _tls.WriteAsync(buffer).ConfigureAwait(false);
        }
        catch (ObjectDisposedException exception)
        {
            throw new IOException("The connection was aborted.", exception);
        }
    }

    /// <inheritdoc/>
    public override void ShutdownSend() => _ = ShutdownAsync();

    /// <inheritdoc/>
    public override bool IsIdleAndOpen()
    {
        // The pending wait takes in what is TLS's own (a session ticket, new keys) and goes on. What it has not taken in yet may be anything.
        return _socket.IsQuiet();
    }

    /// <inheritdoc/>
    public override bool HasBytes()
    {
        // Behind a wait that has ended this is complete at once: with a byte of the backend, or with the end that close_notify is.
        var read = ReadOneAsync();
        return read.IsCompletedSuccessfully && read.Result > 0;
    }

    /// <inheritdoc/>
    public override void Discard()
    {
        _socket.ResetOnClose();
        Dispose();
    }

    /// <inheritdoc/>
    public override void Abort()
    {
        if (Interlocked.Exchange(ref _aborted, 1) == 0)
        {
            _socket.Dispose();
        }
    }

    /// <inheritdoc/>
    public override void Dispose()
    {
        Abort();
        _tls.Dispose();
    }

    private async Task<int> ReadOneAsync()
    {
        try
        {
            return await _tls.ReadAsync(_one).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException or InvalidOperationException or NotSupportedException)
        {
            return 0;
        }
    }

    private async Task ShutdownAsync()
    {
        try
        {
            await _tls.ShutdownAsync().ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException or InvalidOperationException)
        {
            // The connection is gone already.
        }
    }
}
