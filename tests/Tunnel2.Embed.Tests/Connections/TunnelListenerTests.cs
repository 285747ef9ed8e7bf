using System.Net;
using Tunnel2.Embed.Connections;

namespace Tunnel2.Embed.Tests.Connections;

public sealed class TunnelListenerTests
{
    [Fact]
    public async Task Connections_come_in_turn_and_none_after_the_end()
    {
        var app = new EmbeddedApp();
        Assert.Null(app.TryConnect(null));
        Assert.False(app.IsBound);
        var listener = await app.BindAsync(TunnelEndPoint.Instance, TestContext.Current.CancellationToken);
        Assert.True(app.IsBound);
        var accepting = listener.AcceptAsync(TestContext.Current.CancellationToken);
        var first = app.TryConnect(null);
        Assert.Same(first, ((TunnelConnection)(await accepting)!).Agent);
        var second = app.TryConnect(null);
        await listener.UnbindAsync(TestContext.Current.CancellationToken);
        Assert.Null(app.TryConnect(null));
        Assert.Same(second, ((TunnelConnection)(await listener.AcceptAsync(TestContext.Current.CancellationToken))!).Agent);
        Assert.Null(await listener.AcceptAsync(TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task A_connection_that_was_never_taken_ends_with_the_listener()
    {
        var listener = new TunnelListener(TunnelEndPoint.Instance);
        var connection = listener.TryConnect(null)!;
        var receiving = connection.Agent.ReceiveAsync(new byte[10]).AsTask();
        await listener.DisposeAsync();
        Assert.Equal(0, await receiving);
    }

    [Fact]
    public void It_is_for_its_own_kind_of_address_alone()
    {
        var app = new EmbeddedApp();
        Assert.True(app.CanBind(TunnelEndPoint.Instance));
        Assert.False(app.CanBind(new IPEndPoint(IPAddress.Loopback, 80)));
    }

    [Fact]
    public void Ids_of_connections_differ()
    {
        var ids = Enumerable.Range(0, 100).Select(static _ => new TunnelConnection(TunnelEndPoint.Instance, null).ConnectionId);
        Assert.Equal(100, ids.Distinct().Count());
    }
}
