using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Protocol.Errors;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Tests.Backend;

public sealed class BackendConnectorTests
{
    [Theory]
    [InlineData(SocketError.ConnectionRefused, StreamResetDetail.ConnectionRefused)]
    [InlineData(SocketError.TimedOut, StreamResetDetail.ConnectTimeout)]
    [InlineData(SocketError.OperationAborted, StreamResetDetail.ConnectTimeout)]
    [InlineData(SocketError.HostNotFound, StreamResetDetail.NameNotResolved)]
    [InlineData(SocketError.TryAgain, StreamResetDetail.NameNotResolved)]
    [InlineData(SocketError.NoData, StreamResetDetail.NameNotResolved)]
    [InlineData(SocketError.HostUnreachable, StreamResetDetail.Unreachable)]
    [InlineData(SocketError.NetworkUnreachable, StreamResetDetail.Unreachable)]
    [InlineData(SocketError.AccessDenied, StreamResetDetail.Unreachable)]
    [InlineData(SocketError.TooManyOpenSockets, StreamResetDetail.NoDescriptors)]
    public void A_failed_connect_has_its_word_on_the_wire(SocketError error, StreamResetDetail detail) =>
        Assert.Equal(new BackendFailure(StreamResetReason.BackendConnect, detail), BackendFailure.FromConnect(error));

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("localhost")]
    public async Task A_port_without_a_listener_refuses(string host)
    {
        using var port = new RefusedPort();
        var (connection, failure) = await Connector(host, port.Port).ConnectAsync(null, CancellationToken.None);
        Assert.Null(connection);
        Assert.Equal(BackendFailure.Connect(StreamResetDetail.ConnectionRefused), failure);
    }

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("localhost")]
    public async Task A_port_with_a_listener_gives_a_connection_each_time(string host)
    {
        await using var server = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        var connector = Connector(host, server.Port);
        for (var i = 1; i <= 3; i++)
        {
            var (connection, failure) = await connector.ConnectAsync(null, CancellationToken.None);
            Assert.NotNull(connection);
            Assert.True(failure.IsNone);
            Assert.True(connection.Transport.IsIdleAndOpen());
            await server.ConnectionsAccepted.WaitForAsync(i);
            connection.Dispose();
            await server.ConnectionsDone.WaitForAsync(i);
        }

        Assert.Equal(3, server.ConnectionsAccepted.Value);
    }

    [Fact]
    public async Task An_address_that_does_not_answer_leaves_time_for_the_next_one()
    {
        var time = new ManualTimeProvider();
        var tried = new List<string>();
        var transport = new FakeBackendTransport();
        var connector = new BackendConnector(new BackendTarget(false, "service.example", 80), new BufferPool(), timeProvider: time)
        {
            Dial = async (endPoint, cancellationToken) =>
            {
                tried.Add(endPoint.ToString());
                if (endPoint.Address.Equals(IPAddress.Parse("10.0.0.1")))
                {
                    await Task.Delay(Timeout.InfiniteTimeSpan, cancellationToken);
                }

                return endPoint.Address.Equals(IPAddress.Parse("10.0.0.2")) ? (null, SocketError.ConnectionRefused) : (transport, default);
            },
        };
        IPAddress[] addresses = [IPAddress.Parse("10.0.0.1"), IPAddress.Parse("10.0.0.2"), IPAddress.Parse("10.0.0.3")];
        var opening = connector.OpenOneOfAsync(null, addresses, CancellationToken.None).AsTask();
        Assert.Equal(["10.0.0.1:80"], tried);
        time.Advance(BackendConnector.DefaultTimeout / 3);
        Assert.Same(transport, (await opening).Transport);
        Assert.Equal(["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"], tried);
    }

    [Fact]
    public async Task A_caller_that_gives_up_gets_no_connection()
    {
        using var port = new RefusedPort();
        using var cancelled = new CancellationTokenSource();
        await cancelled.CancelAsync();
        var (connection, failure) = await Connector("127.0.0.1", port.Port).ConnectAsync(null, cancelled.Token);
        Assert.Null(connection);
        Assert.Equal(StreamResetReason.BackendConnect, failure.Reason);
    }

    [Fact]
    public async Task A_tls_handshake_that_does_not_answer_has_the_same_limit_as_the_connect()
    {
        var greeted = new WaitSignal("the handshake has begun");
        await using var server = RawTcpServer.Start(async connection =>
        {
            await connection.ReadExactlyAsync(1);
            greeted.Set();
            await connection.WaitForEndAsync();
        });
        var time = new ManualTimeProvider();
        var connector = new BackendConnector(new BackendTarget(true, "127.0.0.1", server.Port), new BufferPool(), timeProvider: time);
        var connecting = connector.ConnectAsync(null, CancellationToken.None).AsTask();
        await greeted.WaitAsync();
        time.Advance(BackendConnector.DefaultTimeout - TimeSpan.FromMilliseconds(1));
        Assert.False(connecting.IsCompleted);
        time.Advance(TimeSpan.FromMilliseconds(1));
        var (connection, failure) = await connecting;
        Assert.Null(connection);
        Assert.Equal(BackendFailure.Connect(StreamResetDetail.ConnectTimeout), failure);
        await server.ConnectionsDone.WaitForAsync(1);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task The_system_asks_a_silent_service_whether_its_machine_is_still_there(bool isOnLoop)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Reads /proc.");
        Assert.SkipUnless(!isOnLoop || EngineSetup.HasEpoll, "epoll");
        using var engine = isOnLoop ? new EpollEngine(1) : null;
        await using var server = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        var (connection, _) = await Connector("127.0.0.1", server.Port).ConnectAsync(null, CancellationToken.None, engine?.Loops[0]);
        using (connection)
        {
            // The agent's end is the established one whose peer is the service; 02 is the kernel's word for the timer of keepalive.
            string own = (await File.ReadAllLinesAsync("/proc/net/tcp"))
                .Single(line => line.Split(' ', StringSplitOptions.RemoveEmptyEntries) is [_, _, var peer, "01", ..]
                    && peer.EndsWith($":{server.Port:X4}", StringComparison.Ordinal));
            Assert.StartsWith("02:", own.Split(' ', StringSplitOptions.RemoveEmptyEntries)[5], StringComparison.Ordinal);
        }
    }

    private static BackendConnector Connector(string host, int port) => new(new BackendTarget(false, host, port), new BufferPool());
}
