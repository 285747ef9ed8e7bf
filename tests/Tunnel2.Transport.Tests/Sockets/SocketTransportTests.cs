using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Tests.Sockets;

public sealed class SocketTransportTests() : TcpUplinkTransportContract("portable")
{
    [Fact]
    public async Task The_socket_is_tuned_and_named()
    {
        var (left, right) = await ConnectSocketsAsync();
        using (right)
        {
            await using var transport = new SocketTransport(left);
            Assert.True(left.NoDelay);
            Assert.Equal(right.LocalEndPoint!.ToString(), transport.RemoteName);
            if (OperatingSystem.IsLinux())
            {
                Span<byte> value = stackalloc byte[4];
                left.GetRawSocketOption(6, 25, value);
                Assert.Equal(128 * 1024, BitConverter.ToInt32(value));
            }
        }
    }
}
