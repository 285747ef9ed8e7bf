using Tunnel2.Transport.Epoll;

namespace Tunnel2.Transport.Tests.Sockets;

public sealed class EpollUplinkTests() : TcpUplinkTransportContract("epoll")
{
    private const int IpProtoTcp = 6;

    [Fact]
    public async Task The_socket_is_tuned_and_named()
    {
        using var loop = new EpollLoop();
        var (left, right) = await ConnectSocketsAsync();
        using (right)
        {
            var transport = EpollChannel.AdoptUplink(loop, left);
            Assert.Equal(right.LocalEndPoint!.ToString(), transport.RemoteName);
            Assert.Equal(1, transport.Socket.GetOption(IpProtoTcp, 1));
            Assert.Equal(128 * 1024, transport.Socket.GetOption(IpProtoTcp, 25));
            await transport.DisposeAsync();
        }
    }
}
