using System.Net;
using System.Net.Sockets;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Datagrams;

namespace Tunnel2.Transport.Tests.Datagrams;

/// <summary>From which address a port answers. A machine of Linux has all of 127.0.0.0/8.</summary>
public sealed class DatagramPortTests
{
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(10);

    [Theory]
    [InlineData("0.0.0.0", "127.0.0.1")]
    [InlineData("0.0.0.0", "127.0.0.2")]
    [InlineData("::", "127.0.0.1")]
    [InlineData("::", "127.0.0.2")]
    [InlineData("::", "::1")]
    [InlineData("127.0.0.2", "127.0.0.2")]
    public async Task An_answer_comes_from_the_address_that_was_called(string at, string called)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "The system chooses.");
        Assert.SkipUnless(!at.Contains(':', StringComparison.Ordinal) || LoopbackV6.IsThere, "No ::1 here.");
        using var port = new DatagramPort(new IPEndPoint(IPAddress.Parse(at), 0));
        using var visitor = Visit(called, port.LocalEndPoint.Port);
        var from = port.NewAddress();
        var buffer = new byte[65_535];
        foreach (var length in new[] { 1, 0, 1_400, 65_507 })
        {
            await visitor.SendAsync(PatternBytes.Window(0, length));
            var (received, address) = await port.ReceiveAsync(buffer, from).AsTask().WaitAsync(_patience);
            Assert.Equal(length, received);
            PatternBytes.Verify(buffer.AsSpan(0, received), 0);
            Assert.Equal(new IPEndPoint(IPAddress.Parse(called), port.LocalEndPoint.Port), Plain(port.Called(address)));
            Assert.Equal(visitor.LocalEndPoint, Plain((IPEndPoint)port.LocalEndPoint.Create(from)));
            port.Send(buffer.AsSpan(0, received), from, address);
            Assert.Equal(length, await ReceiveAsync(visitor));
        }
    }

    [Fact]
    public async Task Where_the_address_is_gone_the_answer_comes_from_another_one()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "The system chooses.");
        using var port = new DatagramPort(new IPEndPoint(IPAddress.Any, 0));
        using var visitor = Visit("127.0.0.1", port.LocalEndPoint.Port);
        var gone = new CalledAddress(BitConverter.ToUInt32([198, 51, 100, 7]), 0);
        Assert.Equal(IPAddress.Parse("198.51.100.7"), port.Called(gone).Address);
        port.Send([1], ((IPEndPoint)visitor.LocalEndPoint!).Serialize(), gone);
        Assert.Equal(1, await ReceiveAsync(visitor));
    }

    [Theory]
    [InlineData("0.0.0.0")]
    [InlineData("127.0.0.1")]
    public async Task One_that_is_disposed_of_ends_who_receives_and_sends_nothing(string at)
    {
        var port = new DatagramPort(new IPEndPoint(IPAddress.Parse(at), 0));
        var receiving = port.ReceiveAsync(new byte[100], port.NewAddress()).AsTask();
        port.Dispose();
        Assert.True(port.IsClosed);
        var end = await Assert.ThrowsAnyAsync<Exception>(() => receiving.WaitAsync(_patience));
        Assert.True(end is SocketException or ObjectDisposedException, end.ToString());
        var someone = new IPEndPoint(IPAddress.Loopback, 9).Serialize();
        port.Send([1], someone, default);
        port.Send([1], someone, new CalledAddress(BitConverter.ToUInt32([127, 0, 0, 1]), 0));
        await Assert.ThrowsAsync<ObjectDisposedException>(() => port.ReceiveAsync(new byte[100], port.NewAddress()).AsTask());
    }

    private static Socket Visit(string called, int port)
    {
        var address = IPAddress.Parse(called);
        var visitor = new Socket(address.AddressFamily, SocketType.Dgram, ProtocolType.Udp);

        // A connected socket takes nothing from another address.
        visitor.Connect(new IPEndPoint(address, port));
        return visitor;
    }

    private static async Task<int> ReceiveAsync(Socket visitor)
    {
        using var patience = new CancellationTokenSource(_patience);
        return await visitor.ReceiveAsync(new byte[65_536], SocketFlags.None, patience.Token);
    }

    private static IPEndPoint Plain(IPEndPoint endPoint) =>
        new(endPoint.Address.IsIPv4MappedToIPv6 ? endPoint.Address.MapToIPv4() : endPoint.Address, endPoint.Port);
}
