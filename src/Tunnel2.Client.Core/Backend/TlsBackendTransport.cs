using System.Net.Security;
using System.Net.Sockets;

namespace Tunnel2.Client.Core.Backend;

/// <summary>TLS to the backend.</summary>
internal sealed class TlsBackendTransport : BackendTransport
{
    private readonly Socket _socket;
    private readonly SslStream _tls;
    private int _aborted;

    public TlsBackendTransport(Socket socket, SslStream tls)
    {
        _socket = socket;
        _tls = tls;
    }

    /// <inheritdoc/>
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
        try
        {
            // What waits could be a session ticket, but then it would have come with the last answer: a fresh connection is safer.
            return !_socket.Poll(0, SelectMode.SelectRead);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            return false;
        }
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
