using System.Net.Sockets;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Client.Core.Backend;

/// <summary>A plain socket to the backend, with one reusable operation each way.</summary>
internal sealed class SocketBackendTransport : BackendTransport
{
    private readonly Socket _socket;
    private readonly SocketUplinkTransport _operations;

    public SocketBackendTransport(Socket socket)
    {
        _socket = socket;
        _operations = new SocketUplinkTransport(socket, isUplink: false);
    }

    /// <inheritdoc/>
    public override ValueTask<int> ReceiveAsync(Memory<byte> buffer) => _operations.ReceiveAsync(buffer);

    /// <inheritdoc/>
    public override ValueTask SendAsync(ReadOnlyMemory<byte> buffer) => _operations.SendAsync(buffer);

    /// <inheritdoc/>
    public override void ShutdownSend() => _operations.ShutdownSend();

    /// <inheritdoc/>
    public override bool IsIdleAndOpen() => _socket.IsQuiet();

    /// <inheritdoc/>
    public override bool HasBytes() => _socket.HasBytes();

    /// <inheritdoc/>
    public override void Abort() => _operations.Abort();

    /// <inheritdoc/>
    public override void Discard()
    {
        _socket.ResetOnClose();
        _operations.Abort();
    }

    /// <inheritdoc/>
    public override void Dispose() => _operations.Abort();
}
