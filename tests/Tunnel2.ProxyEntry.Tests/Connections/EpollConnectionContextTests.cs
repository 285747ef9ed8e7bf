using System.Buffers;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Tests.Connections;

public sealed class EpollConnectionContextTests : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly EpollLoop _loop = new();
    private int _descriptor;

    public void Dispose() => _loop.Dispose();

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task An_observer_that_throws_when_a_visitor_leaves_costs_that_connection_and_nothing_else(bool onLoop)
    {
        var (connection, visitor) = await ConnectAsync();
        var (other, otherVisitor) = await ConnectAsync();
        using (otherVisitor)
        {
            connection.RunsOnLoop = onLoop;
            var told = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            connection.ConnectionClosed.Register(told.SetResult);
            connection.ConnectionClosed.Register(static () => throw new InvalidTimeZoneException());
            var counted = new WaitSignal("the fault is counted");
            _loop.Faults.Report = (_, _, _) => counted.Set();
            visitor.Shutdown(SocketShutdown.Send);
            await counted.WaitAsync();
            Assert.Equal(1, _loop.Faults.Count);
            await told.Task.WaitAsync(_limit);

            // The fault has cut the connection: the visitor gets a reset.
            await Assert.ThrowsAsync<SocketException>(() => visitor.ReceiveAsync(new byte[1])).WaitAsync(_limit);
            visitor.Dispose();
            await connection.DisposeAsync();

            await otherVisitor.SendAsync(new byte[3]);
            var read = await other.Transport.Input.ReadAsync().AsTask().WaitAsync(_limit);
            Assert.Equal(3, read.Buffer.Length);
            other.Transport.Input.AdvanceTo(read.Buffer.End);
            await other.DisposeAsync();
        }
    }

    [Fact]
    public async Task A_connection_that_becomes_an_uplink_of_the_machine_itself_holds_as_little_unread_as_others()
    {
        var (connection, visitor) = await ConnectAsync();
        using (visitor)
        {
            using var handle = new SafeSocketHandle(_descriptor, ownsHandle: false);
            using var socket = new Socket(handle);
            var most = int.Parse(await File.ReadAllTextAsync("/proc/sys/net/core/rmem_max"), CultureInfo.InvariantCulture);
            var limited = 2 * Math.Min(UnreadBytes.Limit, most);
            Assert.NotEqual(limited, socket.ReceiveBufferSize);
            connection.LimitUnreadBytes();
            Assert.Equal(limited, socket.ReceiveBufferSize);
            await connection.DisposeAsync();
        }
    }

    private async Task<(EpollConnectionContext Connection, Socket Visitor)> ConnectAsync()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(1);
        var visitor = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await visitor.ConnectAsync(listener.LocalEndPoint!);
        var accepted = await listener.AcceptAsync();
        var limit = new ConnectionLimit("visitors", 10, 10);
        Assert.True(limit.TryEnter(IPAddress.Loopback, out var place));
        var connection = new EpollConnectionContext(
            _loop, _descriptor = DescriptorOf.Take(accepted), (IPEndPoint)listener.LocalEndPoint!, (IPEndPoint)visitor.LocalEndPoint!,
            MemoryPool<byte>.Shared, limit, place);
        Assert.Equal(0, connection.Register());
        return (connection, visitor);
    }
}
