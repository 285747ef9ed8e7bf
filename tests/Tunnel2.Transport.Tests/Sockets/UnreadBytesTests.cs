using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Sockets;
using Tunnel2.Transport.Tests.Epoll;

namespace Tunnel2.Transport.Tests.Sockets;

/// <summary>How much the kernel receives ahead of an uplink's reader, where the peer is near.</summary>
public sealed class UnreadBytesTests
{
    private const int SolSocket = 1;
    private const int SoReceiveBuffer = 8;

    /// <summary>The kernel counts its own bookkeeping too, and has a limit of its own.</summary>
    private static int Limited => 2 * Math.Min(
        UnreadBytes.Limit, int.Parse(File.ReadAllText("/proc/sys/net/core/rmem_max").Trim(), CultureInfo.InvariantCulture));

    [Fact]
    public async Task Both_ends_of_an_uplink_within_the_machine_are_limited()
    {
        using var loop = new EpollLoop();
        using var listener = LoopbackPair.Bind();
        listener.Listen(1);
        var (dialled, error) = await EpollConnector.ConnectAsync(
            loop, (IPEndPoint)listener.LocalEndPoint!, TestContext.Current.CancellationToken);
        Assert.Equal(SocketError.Success, error);
        var accepted = EpollChannel.AdoptUplink(loop, await listener.AcceptAsync(TestContext.Current.CancellationToken));

        Assert.NotEqual(Limited, dialled!.Socket.GetOption(SolSocket, SoReceiveBuffer));
        dialled.AsUplink((IPEndPoint)listener.LocalEndPoint!);

        Assert.Equal(Limited, dialled.Socket.GetOption(SolSocket, SoReceiveBuffer));
        Assert.Equal(Limited, accepted.Socket.GetOption(SolSocket, SoReceiveBuffer));
        dialled.Abort();
        accepted.Abort();
    }

    [Theory]
    [InlineData("192.0.2.1", 1, true)]
    [InlineData("192.0.2.1", 499, true)]
    [InlineData("192.0.2.1", 500, false)]
    [InlineData("2001:db8::1", 80_000, false)]
    [InlineData("2001:db8::1", uint.MaxValue, false)]
    [InlineData("192.0.2.1", 0, false)] // not measured
    [InlineData("127.0.0.1", 0, true)]
    [InlineData("::ffff:127.0.0.1", 80_000, true)] // measured on a busy machine
    [InlineData(null, 80_000, false)]
    public void Only_a_near_peer_is_limited(string? peer, uint microseconds, bool isLimited) =>
        Assert.Equal(isLimited, UnreadBytes.IsNear(peer is null ? null : IPAddress.Parse(peer), microseconds));

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_connection_that_its_peer_has_reset_is_left_to_who_uses_it(bool isLeft)
    {
        var (left, right) = await LoopbackPair.ConnectAsync();
        using var kept = isLeft ? left : right;
        using var peer = isLeft ? right : left;
        peer.LingerState = new LingerOption(true, 0);
        peer.Dispose();
        Assert.True(kept.Poll(TimeSpan.FromSeconds(20), SelectMode.SelectRead));

        Assert.Null(Record.Exception(() => SocketTuning.ApplyToUplink(kept)));
    }

    [Fact]
    public void A_socket_of_another_kind_keeps_its_own()
    {
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        var before = socket.ReceiveBufferSize;

        UnreadBytes.LimitOn(socket);

        Assert.Equal(before, socket.ReceiveBufferSize);
    }
}
