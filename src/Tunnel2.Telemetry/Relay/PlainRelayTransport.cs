using System.Net.Sockets;

namespace Tunnel2.Telemetry.Relay;

/// <summary>A socket without TLS. The socket belongs to it.</summary>
internal sealed class PlainRelayTransport(Socket socket) : RelayTransport
{
    /// <inheritdoc/>
    internal override bool SendsAtOnce => true;

    /// <inheritdoc/>
    internal override bool HasMore
    {
        get
        {
            try
            {
                return socket.Available > 0;
            }
            catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
            {
                return false;
            }
        }
    }

    /// <inheritdoc/>
    internal override async ValueTask<int> ReceiveAsync(Memory<byte> buffer, CancellationToken cancellationToken)
    {
        try
        {
            return await socket.ReceiveAsync(buffer, SocketFlags.None, cancellationToken).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            throw new IOException("The connection was aborted.", exception);
        }
    }

    /// <inheritdoc/>
    internal override async ValueTask SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        try
        {
            await socket.SendAsync(bytes, SocketFlags.None, cancellationToken).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            throw new IOException("The connection was aborted.", exception);
        }
    }

    /// <inheritdoc/>
    internal override int TrySend(ReadOnlySpan<byte> bytes)
    {
        int sent = socket.Send(bytes, SocketFlags.None, out SocketError error);
        return error switch
        {
            SocketError.Success => sent,
            SocketError.WouldBlock => 0,
            _ => -1,
        };
    }

    /// <inheritdoc/>
    internal override void Abort() => socket.Dispose();

    /// <inheritdoc/>
    public override ValueTask DisposeAsync()
    {
        Abort();
        return default;
    }
}
