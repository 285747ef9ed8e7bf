using System.Net;
using System.Net.Sockets;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Tests.Epoll;

namespace Tunnel2.Transport.Tests.Sockets;

/// <summary>What the kernel takes of a connection whose peer reads nothing: a visitor who stalls, a service that does not read.</summary>
public sealed class UnsentBytesTests
{
    /// <summary>What may be unsent, one segment of loopback beyond it, and what the peer's kernel takes. Without a limit it is 2.5
    /// MB.</summary>
    private const int Most = 320 * 1024;

    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    [Fact]
    public async Task Of_a_connection_that_was_accepted_the_kernel_takes_little_from_a_peer_who_reads_nothing()
    {
        using var loop = new EpollLoop();
        var accepted = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        using var listener = OneLoopListener.Start(loop, LoopbackPair.Bind(), 8, (descriptor, _) => accepted.SetResult(descriptor));
        using var peer = NewPeer();
        await peer.ConnectAsync(listener.EndPoint, TestContext.Current.CancellationToken);
        var channel = new EpollChannel(loop, await accepted.Task.WaitAsync(_limit, TestContext.Current.CancellationToken));

        Assert.InRange(Fill(channel), 1, Most);
        channel.Abort();
    }

    [Fact]
    public async Task Of_a_connection_that_was_opened_the_kernel_takes_little_from_a_peer_who_reads_nothing()
    {
        using var loop = new EpollLoop();
        using var listener = NewPeer();
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(1);
        var (channel, error) = await EpollConnector.ConnectAsync(
            loop, (IPEndPoint)listener.LocalEndPoint!, TestContext.Current.CancellationToken);
        Assert.Equal(SocketError.Success, error);
        using var peer = await listener.AcceptAsync(TestContext.Current.CancellationToken);

        Assert.InRange(Fill(channel!), 1, Most);
        channel!.Abort();
    }

    /// <summary>A socket, or a listener of such, that takes hardly anything before a peer reads.</summary>
    private static Socket NewPeer() => new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { ReceiveBufferSize = 4096 };

    private static int Fill(EpollChannel channel)
    {
        var piece = new byte[64 * 1024];
        var taken = 0;
        for (int count; (count = channel.Socket.Send(piece)) > 0; taken += count)
        {
        }

        return taken;
    }
}
