using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Backend;

/// <summary>A plain connection to the backend on the event loop.</summary>
internal sealed class EpollBackendTransport : BackendTransport
{
    private readonly EpollChannel _channel;

    public EpollBackendTransport(EpollChannel channel)
    {
        _channel = channel;

        // A service may send without an end, and faster than its visitor's neighbours get theirs.
        _channel.TakesTurns = true;
    }

    /// <inheritdoc/>
    public override ValueTask<int> ReceiveAsync(Memory<byte> buffer) => _channel.ReceiveAsync(buffer);

    /// <inheritdoc/>
    public override bool WaitsFreely => true;

    /// <inheritdoc/>
    public override ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        var sent = _channel.SendAsync(buffer);
        return sent.IsCompletedSuccessfully ? default : IgnoreCountAsync(sent);
    }

    /// <inheritdoc/>
    public override void ShutdownSend() => _channel.Socket.ShutdownSend();

    /// <inheritdoc/>
    public override bool IsIdleAndOpen() => _channel.Socket.IsIdleAndOpen();

    /// <inheritdoc/>
    public override bool HasBytes() => _channel.Socket.HasBytes();

    /// <inheritdoc/>
    public override void Abort() => _channel.Abort();

    /// <inheritdoc/>
    public override void Discard() => _channel.Abort(reset: true);

    /// <inheritdoc/>
    public override void Dispose() => _channel.Abort();

    private static async ValueTask IgnoreCountAsync(ValueTask<int> sent) => await sent.ConfigureAwait(false);
}
