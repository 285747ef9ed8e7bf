using System.Net;
using System.Net.Sockets;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Transport.Tests.Epoll;

public sealed class ConnectResetTests
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    [Theory]
    [InlineData(0)]
    [InlineData(4)]
    public async Task A_peer_that_takes_a_connection_and_resets_it_before_the_loop_looks_has_taken_it(int length)
    {
        using var loop = new EpollLoop();
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        using var goesOn = new ManualResetEventSlim();
        loop.Schedule(static state => ((ManualResetEventSlim)state!).Wait(_limit), goesOn);
        var connecting = EpollConnector.ConnectAsync(loop, (IPEndPoint)listener.LocalEndPoint!, CancellationToken.None).AsTask();
        using (var peer = await listener.AcceptAsync())
        {
            await peer.SendAsync(new byte[length]);
            peer.LingerState = new LingerOption(true, 0);
        }

        goesOn.Set();
        var (channel, error) = await connecting.WaitAsync(_limit);
        Assert.Equal(SocketError.Success, error);
        var buffer = new byte[16];
        if (length > 0)
        {
            Assert.Equal(length, await channel!.ReceiveAsync(buffer).AsTask().WaitAsync(_limit));
        }

        await Assert.ThrowsAsync<IOException>(() => channel!.ReceiveAsync(buffer).AsTask().WaitAsync(_limit));
        channel!.Abort();
    }
}
