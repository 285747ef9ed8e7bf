using System.Diagnostics;
using System.Net;
using System.Net.Sockets;

namespace Tunnel2.TestUtilities.Tests.Faults;

public sealed class CuttingProxyTests
{
    [Fact]
    public async Task Bytes_pass_both_ways_and_half_closes_too()
    {
        await using var server = StartEcho();
        await using var proxy = CuttingProxy.Start(server.EndPoint);
        await using var client = await RawHttpClient.ConnectAsync(proxy.EndPoint);
        var sent = new byte[3_000_000];
        PatternBytes.Fill(sent, 0);
        var writing = Task.Run(async () =>
        {
            await client.WriteAsync(sent);
            await client.ShutdownSendAsync();
        });
        var received = await client.ReadToEndAsync();
        await writing;
        Assert.Equal((sent.Length, -1), (received.Length, PatternBytes.IndexOfDifference(received, 0)));
        Assert.Equal(ConnectionEnding.Fin, client.Ending);
        var connection = await proxy.WaitForConnectionAsync();
        await connection.Closed.WaitAsync();
        Assert.Equal((sent.Length, sent.Length), (connection.BytesToTarget.Value, connection.BytesToClient.Value));
    }

    [Theory]
    [InlineData(CutMode.Fin, ConnectionEnding.Fin)]
    [InlineData(CutMode.Reset, ConnectionEnding.Reset)]
    public async Task A_cut_is_seen_by_both_sides_in_its_manner(CutMode mode, ConnectionEnding ending)
    {
        var seenByServer = new TaskCompletionSource<ConnectionEnding>();
        await using var server = RawTcpServer.Start(async connection => seenByServer.SetResult(await connection.WaitForEndAsync()));
        await using var proxy = CuttingProxy.Start(server.EndPoint);
        await using var client = await RawHttpClient.ConnectAsync(proxy.EndPoint);
        await client.WriteAsync("unread");
        var connection = await proxy.WaitForConnectionAsync();
        await connection.BytesToTarget.WaitForAsync(6);
        proxy.CutAll(mode);
        Assert.Equal(ending, await client.WaitForEndAsync());
        Assert.Equal(ending, await seenByServer.Task);
    }

    [Theory]
    [InlineData(CutMode.Fin, ConnectionEnding.Fin)]
    [InlineData(CutMode.Reset, ConnectionEnding.Reset)]
    public async Task A_cut_after_so_many_bytes_lets_exactly_these_through(CutMode mode, ConnectionEnding ending)
    {
        await using var server = StartEcho();
        await using var proxy = CuttingProxy.Start(
            server.EndPoint, connection => connection.CutAfter(RelayDirection.ToClient, 12_345, mode));
        await using var client = await RawHttpClient.ConnectAsync(proxy.EndPoint);
        await client.WriteAsync(new byte[50_000]);
        Assert.Equal(12_345, (await client.ReadToEndAsync()).Length);
        Assert.Equal(ending, client.Ending);
    }

    [Fact]
    public async Task Cutting_one_connection_leaves_the_others()
    {
        await using var server = StartEcho();
        await using var proxy = CuttingProxy.Start(server.EndPoint);
        await using var first = await RawHttpClient.ConnectAsync(proxy.EndPoint);
        await proxy.WaitForConnectionAsync(1);
        await using var second = await RawHttpClient.ConnectAsync(proxy.EndPoint);
        (await proxy.WaitForConnectionAsync(2)).Cut(CutMode.Reset);
        Assert.Equal(ConnectionEnding.Reset, await second.WaitForEndAsync());
        await first.WriteAsync("alive");
        Assert.Equal("alive"u8.ToArray(), await first.ReadExactlyAsync(5));
    }

    [Fact]
    public async Task A_reset_of_one_side_reaches_the_other_after_the_bytes_before_it()
    {
        await using var server = RawTcpServer.Start(async connection =>
        {
            await connection.WriteAsync("last words");
            await connection.ReadExactlyAsync(1);
            connection.Reset();
        });
        await using var proxy = CuttingProxy.Start(server.EndPoint);
        await using var client = await RawHttpClient.ConnectAsync(proxy.EndPoint);
        await client.ReadExactlyAsync(10);
        await client.WriteAsync("!");
        Assert.Equal(ConnectionEnding.Reset, await client.WaitForEndAsync());
    }

    [Fact]
    public async Task A_black_hole_swallows_bytes_and_ends_in_its_direction_only()
    {
        await using var server = StartEcho();
        await using var proxy = CuttingProxy.Start(server.EndPoint);
        await using var client = await RawHttpClient.ConnectAsync(proxy.EndPoint);
        await client.WriteAsync("before");
        await client.ReadExactlyAsync(6);
        proxy.BlackHole(RelayDirection.ToClient);
        await client.WriteAsync("swallowed");
        var connection = await proxy.WaitForConnectionAsync();
        await connection.BytesToTarget.WaitForAsync(15);
        var read = client.ReadExactlyAsync(1);
        await Assert.ThrowsAsync<TimeoutException>(() => read.WaitAsync(TimeSpan.FromMilliseconds(100)));
        connection.Cut(CutMode.Reset);
        await Assert.ThrowsAsync<RawConnectionEndedException>(() => read);
    }

    [Fact]
    public async Task A_pause_fills_the_senders_buffers_and_loses_nothing()
    {
        await using var server = StartEcho();
        await using var proxy = CuttingProxy.Start(server.EndPoint);
        await using var client = await RawHttpClient.ConnectAsync(proxy.EndPoint);
        var connection = await proxy.WaitForConnectionAsync();
        proxy.Pause(RelayDirection.ToTarget);
        var sent = new byte[24 * 1024 * 1024];
        PatternBytes.Fill(sent, 0);
        var writing = client.WriteAsync(sent);
        await Assert.ThrowsAsync<TimeoutException>(() => writing.WaitAsync(TimeSpan.FromMilliseconds(100)));
        Assert.Equal(0, connection.BytesToTarget.Value);
        var reading = client.ReadExactlyAsync(sent.Length);
        proxy.Resume(RelayDirection.ToTarget);
        PatternBytes.Verify(await reading, 0);
        await writing;
    }

    [Fact]
    public async Task A_delay_holds_each_byte_back_and_keeps_the_order()
    {
        await using var server = StartEcho();
        await using var proxy = CuttingProxy.Start(server.EndPoint);
        proxy.SetDelay(RelayDirection.Both, TimeSpan.FromMilliseconds(500));
        await using var client = await RawHttpClient.ConnectAsync(proxy.EndPoint);
        var watch = Stopwatch.StartNew();
        var sent = new byte[1_000_000];
        PatternBytes.Fill(sent, 0);
        var writing = client.WriteAsync(sent);
        var received = await client.ReadExactlyAsync(sent.Length);
        await writing;
        // The whole body is under way at once: one round trip, not one for each of its pieces, of at most 64 KiB.
        Assert.InRange(watch.ElapsedMilliseconds, 1000, sent.Length / 65_536 * 500);
        PatternBytes.Verify(received, 0);
    }

    [Fact]
    public async Task A_bandwidth_limit_is_kept()
    {
        await using var server = StartEcho();
        await using var proxy = CuttingProxy.Start(server.EndPoint);
        proxy.SetBandwidth(RelayDirection.ToClient, 1_000_000);
        await using var client = await RawHttpClient.ConnectAsync(proxy.EndPoint);
        var watch = Stopwatch.StartNew();
        await client.WriteAsync(new byte[300_000]);
        await client.ReadExactlyAsync(300_000);
        Assert.InRange(watch.ElapsedMilliseconds, 290, 3000);
    }

    [Fact]
    public async Task Refused_connections_are_reset_and_a_new_target_serves_later_ones()
    {
        await using var first = RawTcpServer.StartAnswering("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
        await using var second = RawTcpServer.StartAnswering("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
        await using var proxy = CuttingProxy.Start(first.EndPoint);
        proxy.RefuseConnections = true;
        Assert.Equal(ConnectionEnding.Reset, await ConnectAndWaitForEndAsync(proxy.EndPoint));
        Assert.Equal((1, 0), (proxy.ConnectionsRefused.Value, proxy.ConnectionsAccepted.Value));
        proxy.RefuseConnections = false;
        proxy.Target = second.EndPoint;
        await using var served = await RawHttpClient.ConnectAsync(proxy.EndPoint);
        Assert.Equal(202, (await served.ExchangeAsync("/")).Head.StatusCode);
        Assert.Equal((1, 1), (proxy.ConnectionsRefused.Value, proxy.ConnectionsAccepted.Value));
    }

    private static async Task<ConnectionEnding> ConnectAndWaitForEndAsync(IPEndPoint endPoint)
    {
        try
        {
            await using var client = await RawHttpClient.ConnectAsync(endPoint);
            return await client.WaitForEndAsync();
        }
        catch (SocketException e) when (e.SocketErrorCode == SocketError.ConnectionReset)
        {
            // The reset was there before the connecting call had returned.
            return ConnectionEnding.Reset;
        }
    }

    private static RawTcpServer StartEcho() => RawTcpServer.Start(async connection =>
    {
        var buffer = new byte[64 * 1024];
        while (await connection.ReadAsync(buffer) is > 0 and var count)
        {
            await connection.WriteAsync(buffer.AsMemory(0, count));
        }
    });
}
