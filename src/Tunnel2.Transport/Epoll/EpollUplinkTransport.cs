using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Epoll;

/// <summary>An uplink's bytes over a socket of an event loop.</summary>
internal sealed class EpollUplinkTransport : IUplinkTransport
{
    private readonly EpollChannel _channel;

    private EpollUplinkTransport(EpollChannel channel, string remoteName)
    {
        _channel = channel;
        RemoteName = remoteName;
    }

    /// <summary>The socket, for tests.</summary>
    internal EpollSocket Socket => _channel.Socket;

    /// <inheritdoc/>
    public string RemoteName { get; }

    /// <inheritdoc/>
    public PipeScheduler? Home => _channel.Socket.Loop;

    /// <summary>Takes over a connected socket and sets what an uplink wants of it.</summary>
    /// <exception cref="SocketException">The system has no descriptor left.</exception>
    /// <exception cref="IOException">The loop cannot watch it.</exception>
    public static EpollUplinkTransport Adopt(EpollLoop loop, Socket socket)
    {
        var remoteName = SocketTuning.RemoteNameOf(socket);
        SocketTuning.ApplyToUplink(socket);
        var channel = new EpollChannel(loop, DescriptorOf.Take(socket));
        var errno = channel.Register();
        return errno == 0 ? new EpollUplinkTransport(channel, remoteName) : throw Native.Errno.ToException(errno);
    }

    /// <summary>Takes over a connection that was made on its loop and sets what an uplink wants of it.</summary>
    /// <param name="channel">The connection.</param>
    /// <param name="peer">Its other end.</param>
    public static EpollUplinkTransport Adopt(EpollChannel channel, IPEndPoint peer)
    {
        SocketTuning.ApplyToUplink(channel.Socket);
        return new EpollUplinkTransport(channel, peer.ToString());
    }

    /// <inheritdoc/>
    public ValueTask<int> ReceiveAsync(Memory<byte> buffer) => _channel.ReceiveAsync(buffer);

    /// <inheritdoc/>
    public ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        var sent = _channel.SendAsync(buffer);
        if (sent.IsCompletedSuccessfully)
        {
            return default;
        }

        return IgnoreCountAsync(sent);
    }

    /// <inheritdoc/>
    public void ShutdownSend() => _channel.Socket.ShutdownSend();

    /// <inheritdoc/>
    public void Abort() => _channel.Abort();

    /// <inheritdoc/>
    public ValueTask DisposeAsync()
    {
        _channel.Abort();
        return default;
    }

    private static async ValueTask IgnoreCountAsync(ValueTask<int> sent) => await sent.ConfigureAwait(false);
}
