using System.IO.Pipelines;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Client.Tests.Exchanges;

/// <summary>What an abort of an exchange ends, and what it leaves alone.</summary>
public sealed class ExchangeConnectionTests
{
    private static readonly StreamId _first = new(1);
    private static readonly StreamId _second = new(3);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void An_abort_breaks_the_connection_as_the_exchange_wants_it(bool byReset)
    {
        var (held, connection, transport) = Hold(byReset);
        held.Abort(_first);
        Assert.Equal((byReset, byReset ? 0 : 1), (transport.IsDiscarded, transport.Aborts));
        Assert.True(held.IsAborted);
        Assert.True(held.End(out var left));
        Assert.Same(connection, left);
        connection.Dispose();
    }

    [Fact]
    public void A_late_abort_of_an_earlier_exchange_touches_nothing_of_the_next()
    {
        var held = new ExchangeConnection(byReset: false);
        held.Begin(_first);
        Assert.False(held.End(out var left));
        Assert.Null(left);
        held.Abort(_first);
        Assert.False(held.IsAborted);

        held.Begin(_second);
        var (connection, transport) = Connect();
        held.Hold(connection);
        held.Abort(_first);
        Assert.Equal(0, transport.Aborts);
        Assert.Same(connection, held.Take());
        Assert.False(held.End(out left));
        Assert.Null(left);
        connection.Dispose();
    }

    [Fact]
    public void An_abort_gives_up_the_wait_and_no_later_one()
    {
        var held = new ExchangeConnection(byReset: false);
        held.Begin(_first);
        using var one = new CancellationTokenSource();
        using var two = new CancellationTokenSource();
        Assert.True(held.BeginWait(one));
        held.EndWait();
        Assert.True(held.BeginWait(two));
        held.Abort(_first);
        Assert.Equal((false, true), (one.IsCancellationRequested, two.IsCancellationRequested));
        held.EndWait();
        Assert.False(held.BeginWait(one));
        held.EndWait();
        Assert.False(one.IsCancellationRequested);
    }

    [Fact]
    public void A_connection_that_comes_after_the_abort_is_broken_at_once_and_the_next_exchange_begins_anew()
    {
        var held = new ExchangeConnection(byReset: false);
        held.Begin(_first);
        held.Abort(_first);
        var (connection, transport) = Connect();
        held.Hold(connection);
        Assert.Equal(1, transport.Aborts);
        Assert.True(held.End(out var left));
        left!.Dispose();

        held.Begin(_second);
        Assert.False(held.IsAborted);
        Assert.Null(held.Take());
    }

    private static (ExchangeConnection Held, BackendConnection Connection, BackendTransport Transport) Hold(bool byReset)
    {
        var held = new ExchangeConnection(byReset);
        held.Begin(_first);
        var (connection, transport) = Connect();
        held.Hold(connection);
        return (held, connection, transport);
    }

    private static (BackendConnection Connection, BackendTransport Transport) Connect()
    {
        var (agents, _) = InMemoryTransport.CreatePair(1024, PipeScheduler.Inline);
        var transport = new BackendTransport(agents);
        return (new BackendConnection(transport, new BufferPool()), transport);
    }
}
