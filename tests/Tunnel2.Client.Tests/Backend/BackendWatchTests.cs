using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Backend;

public sealed class BackendWatchTests
{
    [Fact]
    public async Task A_backend_that_is_down_is_reported_once_and_again_when_it_is_back()
    {
        using var port = new RefusedPort();
        var target = new BackendTarget(false, "127.0.0.1", port.Port);
        var connector = new BackendConnector(target, new BufferPool());
        var events = new Events();
        var time = new ManualTimeProvider();
        using var watch = BackendWatch.Start(connector, target, events, time);
        await events.Down.WaitForAsync(1);
        for (var i = 0; i < 3; i++)
        {
            await connector.ConnectAsync(null, CancellationToken.None);
        }

        Assert.Equal(
            $"Nothing listens at http://127.0.0.1:{port.Port}: start the service, or check the port. Until then visitors get 502.",
            events.Message);

        // No request asks: it is the watch that looks, once a second at first.
        port.Listen();
        await time.ArmedTimers.WaitForAsync(1);
        time.Advance(TimeSpan.FromSeconds(1));
        await events.Up.WaitForAsync(1);
        Assert.Equal(1, events.Down.Value);
        port.Dispose();
        await connector.ConnectAsync(null, CancellationToken.None);
        Assert.Equal(2, events.Down.Value);
    }

    [Fact]
    public async Task A_backend_that_is_there_is_not_worth_a_word()
    {
        await using var server = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        var target = new BackendTarget(false, "127.0.0.1", server.Port);
        var events = new Events();
        using var watch = BackendWatch.Start(new BackendConnector(target, new BufferPool()), target, events, TimeProvider.System);

        await server.ConnectionsDone.WaitForAsync(1);

        Assert.Equal((0, 0), (events.Down.Value, events.Up.Value));
    }

    [Fact]
    public async Task A_port_alone_also_finds_what_listens_on_the_IPv6_loopback_only()
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "Needs IPv6.");
        using var listener = new TcpListener(IPAddress.IPv6Loopback, 0);
        try
        {
            listener.Start();
        }
        catch (SocketException exception)
        {
            Assert.Skip($"Needs ::1 ({exception.Message}).");
        }

        var port = ((IPEndPoint)listener.LocalEndpoint).Port;
        Assert.Null(BackendTarget.TryParse($"{port}", out var target));
        var connector = new BackendConnector(target!, new BufferPool());
        for (var i = 0; i < 2; i++)
        {
            var (connection, failure) = await connector.ConnectAsync(null, CancellationToken.None);
            Assert.True(failure.IsNone);
            connection!.Dispose();
        }

        listener.Stop();
        var (_, refused) = await connector.ConnectAsync(null, CancellationToken.None);
        Assert.Equal(Protocol.Errors.StreamResetDetail.ConnectionRefused, refused.Detail);
    }

    private sealed class Events : IAgentEvents
    {
        public AsyncCounter Down { get; } = new("backends that are down");

        public AsyncCounter Up { get; } = new("backends that are back");

        public string? Message { get; private set; }

        public bool WantsRequests => false;

        public void BackendUnreachable(BackendTarget upstream, string message)
        {
            Message = message;
            Down.Increment();
        }

        public void BackendReachable(BackendTarget upstream) => Up.Increment();

        public void Connecting(ServerEndpoint server)
        {
        }

        public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream)
        {
        }

        public void ConnectionEnded(ConnectionEnd end)
        {
        }

        public void Reconnecting(TimeSpan delay)
        {
        }

        public void Draining()
        {
        }

        public void Stopped()
        {
        }

        public void RequestCompleted(RequestSummary request)
        {
        }
    }
}
