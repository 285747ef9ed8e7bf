using System.Net;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Sockets;
using Tunnel2.Transport.Tests.Epoll;

namespace Tunnel2.Transport.Tests.Sockets;

/// <summary>What a system with BBR as its default, and any other, gets on connections within the machine.</summary>
public sealed class LoopbackCongestionTests
{
    private const int IpProtoTcp = 6;
    private const int TcpCongestion = 13;

    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private static string SystemDefault => File.ReadAllText("/proc/sys/net/ipv4/tcp_congestion_control").Trim();

    private static string Wanted => SystemDefault.StartsWith("bbr", StringComparison.Ordinal) ? "reno" : SystemDefault;

    [Fact]
    public async Task A_connection_within_the_machine_is_not_paced()
    {
        var (left, right) = await LoopbackPair.ConnectAsync();
        using (left)
        using (right)
        {
            Assert.Equal(SystemDefault, AlgorithmOf(left));
            LoopbackCongestion.ApplyTo(left);
            Assert.Equal(Wanted, AlgorithmOf(left));
            Assert.Equal(SystemDefault, AlgorithmOf(right));
        }
    }

    [Theory]
    [InlineData("127.0.0.1", true)]
    [InlineData("127.9.8.7", true)]
    [InlineData("::1", true)]
    [InlineData("::ffff:127.0.0.1", true)]
    [InlineData("192.0.2.1", false)]
    [InlineData("2001:db8::1", false)]
    [InlineData("::ffff:192.0.2.1", false)]
    [InlineData("0.0.0.0", false)]
    [InlineData(null, false)]
    public void Only_addresses_of_loopback_count(string? address, bool counts)
    {
        using var socket = LoopbackPair.Bind();
        LoopbackCongestion.ApplyTo((int)socket.Handle, address is null ? null : IPAddress.Parse(address));
        Assert.Equal(counts ? Wanted : SystemDefault, AlgorithmOf(socket));
    }

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("0.0.0.0")]
    public async Task What_a_listener_accepts_from_within_the_machine_is_not_paced(string address)
    {
        using var loop = new EpollLoop();
        var bound = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        bound.Bind(new IPEndPoint(IPAddress.Parse(address), 0));
        var accepted = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        using var listener = OneLoopListener.Start(loop, bound, 8, (descriptor, _) => accepted.SetResult(descriptor));
        var (channel, error) = await EpollConnector.ConnectAsync(
            loop, new IPEndPoint(IPAddress.Loopback, listener.EndPoint.Port), CancellationToken.None);
        Assert.Equal(SocketError.Success, error);
        using var other = new Socket(new SafeSocketHandle(await accepted.Task.WaitAsync(_limit), ownsHandle: true));
        Assert.Equal(Wanted, AlgorithmOf(other));
        var first = BitConverter.ToInt32(Encoding.ASCII.GetBytes(Wanted.PadRight(4, '\0')));
        Assert.Equal(first, channel!.Socket.GetOption(IpProtoTcp, TcpCongestion));
        channel.Abort();
    }

    private static string AlgorithmOf(Socket socket)
    {
        Span<byte> name = stackalloc byte[16];
        var length = socket.GetRawSocketOption(IpProtoTcp, TcpCongestion, name);
        return Encoding.ASCII.GetString(name[..length]).TrimEnd('\0');
    }
}
