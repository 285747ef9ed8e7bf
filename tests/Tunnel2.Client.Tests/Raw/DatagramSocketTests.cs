using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Raw;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Raw;

public sealed class DatagramSocketTests
{
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(20);

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("::1")]
    public async Task The_first_datagram_reaches_the_address_at_which_the_service_listens(string at)
    {
        Assert.SkipUnless(at != "::1" || LoopbackV6.IsThere, "No ::1 here.");
        using var service = Listen(at, 0);
        var target = TargetOf(service);
        using var socket = new DatagramSocket(target, [IPAddress.IPv6Loopback, IPAddress.Loopback, IPAddress.Parse("127.0.0.2")]);

        socket.SendFirst("?"u8);

        await AssertArrivesAsync(service, "?");
        Assert.Equal(IPAddress.Parse(at), ((IPEndPoint)socket.Socket.RemoteEndPoint!).Address);
    }

    [Fact]
    public async Task The_address_that_answered_is_tried_first_and_the_one_that_failed_last()
    {
        Assert.SkipUnless(LoopbackV6.IsThere, "No ::1 here.");
        using var service = Listen("::1", 0);
        var target = TargetOf(service);
        Assert.Equal([IPAddress.Loopback, IPAddress.IPv6Loopback], await target.ResolveAsync(default));
        using (var socket = new DatagramSocket(target, await target.ResolveAsync(default)))
        {
            socket.SendFirst("?"u8);
            await AssertArrivesAsync(service, "?");
            socket.Answered();
        }

        Assert.Equal([IPAddress.IPv6Loopback, IPAddress.Loopback], await target.ResolveAsync(default));
        using (var socket = new DatagramSocket(target, await target.ResolveAsync(default)))
        {
            socket.Failed();
        }

        Assert.Equal([IPAddress.Loopback, IPAddress.IPv6Loopback], await target.ResolveAsync(default));
    }

    [Fact]
    public void A_refusal_at_the_last_address_is_left_for_the_receive_to_report()
    {
        DatagramTarget target;
        using (var service = Listen("127.0.0.1", 0))
        {
            target = TargetOf(service);
        }

        using var socket = new DatagramSocket(target, [IPAddress.IPv6Loopback, IPAddress.Loopback]);
        socket.SendFirst("?"u8);

        Assert.False(socket.HasOthers);
        socket.Socket.Receive(new byte[1], SocketFlags.None, out var error);
        Assert.Equal(SocketError.ConnectionRefused, error);
    }

    [Fact]
    public void Addresses_without_a_way_are_passed_over_and_no_address_is_an_error()
    {
        using var service = Listen("127.0.0.1", 0);
        using var socket = new DatagramSocket(TargetOf(service), [IPAddress.Parse("255.255.255.255"), IPAddress.Loopback]);
        Assert.Equal(IPAddress.Loopback, ((IPEndPoint)socket.Socket.RemoteEndPoint!).Address);

        var failure = Assert.Throws<SocketException>(() => new DatagramSocket(TargetOf(service), []));
        Assert.Equal(SocketError.HostNotFound, failure.SocketErrorCode);
    }

    private static DatagramTarget TargetOf(Socket service) => new(
        new BackendTarget(false, "127.0.0.1", ((IPEndPoint)service.LocalEndPoint!).Port) { TriesIPv6Loopback = true });

    private static Socket Listen(string at, int port)
    {
        var place = new IPEndPoint(IPAddress.Parse(at), port);
        var socket = new Socket(place.AddressFamily, SocketType.Dgram, ProtocolType.Udp);
        socket.Bind(place);
        return socket;
    }

    private static async Task AssertArrivesAsync(Socket service, string expected)
    {
        using var patience = new CancellationTokenSource(_patience);
        var buffer = new byte[100];
        var received = await service.ReceiveAsync(buffer, SocketFlags.None, patience.Token);
        Assert.Equal(expected, System.Text.Encoding.ASCII.GetString(buffer, 0, received));
    }
}
