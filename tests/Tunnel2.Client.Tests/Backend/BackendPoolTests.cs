using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Buffers;
using ManualTimeProvider = Tunnel2.TestUtilities.ManualTimeProvider;

namespace Tunnel2.Client.Tests.Backend;

public sealed class BackendPoolTests : IDisposable
{
    private readonly ManualTimeProvider _time = new();
    private readonly BufferPool _buffers = new();
    private readonly BackendPool _pool;

    public BackendPoolTests() =>
        _pool = new BackendPool(new BackendConnector(new BackendTarget(false, "127.0.0.1", 1), _buffers), _time);

    [Fact]
    public void The_connection_that_was_used_last_is_used_next()
    {
        var (first, second) = (Connection(), Connection());
        _pool.Return(first);
        _pool.Return(second);
        Assert.Equal(2, _pool.IdleCount);
        Assert.Same(second, _pool.TryRent(check: false));
        Assert.Same(first, _pool.TryRent(check: false));
        Assert.Null(_pool.TryRent(check: false));
    }

    [Fact]
    public void A_kept_connection_holds_no_buffer_and_is_known_to_be_reused()
    {
        var connection = Connection();
        connection.RentBuffer(1000);
        Assert.False(connection.IsReused);
        Assert.Equal(1, _buffers.Outstanding);
        _pool.Return(connection);
        Assert.Equal(0, _buffers.Outstanding);
        Assert.Null(connection.Buffer);
        Assert.True(connection.IsReused);
    }

    [Fact]
    public void Where_it_matters_closed_connections_are_passed_over()
    {
        var open = Connection();
        var (closedFirst, closedLast) = (Connection(), Connection());
        _pool.Return(closedFirst);
        _pool.Return(open);
        _pool.Return(closedLast);
        Transport(closedFirst).IsOpen = false;
        Transport(closedLast).IsOpen = false;
        Assert.Same(open, _pool.TryRent(check: true));
        Assert.True(Transport(closedLast).IsDisposed);
        Assert.Null(_pool.TryRent(check: true));
        Assert.True(Transport(closedFirst).IsDisposed);
        Assert.False(Transport(open).IsDisposed);
    }

    [Fact]
    public void A_connection_that_nobody_used_for_55_seconds_is_closed()
    {
        var (old, young) = (Connection(), Connection());
        _pool.Return(old);
        _time.Advance(TimeSpan.FromSeconds(30));
        _pool.Return(young);
        _time.Advance(TimeSpan.FromSeconds(25));
        Assert.False(Transport(old).IsDisposed);
        _time.Advance(TimeSpan.FromSeconds(5));
        Assert.True(Transport(old).IsDisposed);
        Assert.False(Transport(young).IsDisposed);
        Assert.Equal(1, _pool.IdleCount);
        _time.Advance(TimeSpan.FromSeconds(30));
        Assert.True(Transport(young).IsDisposed);
        Assert.Equal(0, _pool.IdleCount);
    }

    [Fact]
    public void A_connection_that_the_backend_closed_does_not_wait_for_its_time()
    {
        var (open, closed, other) = (Connection(), Connection(), Connection());
        _pool.Return(open);
        _pool.Return(closed);
        _pool.Return(other);
        Transport(closed).IsOpen = false;
        _time.Advance(TimeSpan.FromSeconds(5));
        Assert.True(Transport(closed).IsDisposed);
        Assert.Equal(2, _pool.IdleCount);
        Assert.Same(other, _pool.TryRent(check: false));
        Assert.Same(open, _pool.TryRent(check: false));
    }

    [Fact]
    public void No_more_than_the_limit_is_kept()
    {
        for (var i = 0; i < BackendPool.MaxIdle; i++)
        {
            _pool.Return(Connection());
        }

        var last = Connection();
        _pool.Return(last);
        Assert.True(Transport(last).IsDisposed);
        Assert.Equal(BackendPool.MaxIdle, _pool.IdleCount);
    }

    [Fact]
    public void A_pool_that_is_gone_closes_what_it_has_and_what_comes_back()
    {
        var (kept, late) = (Connection(), Connection());
        _pool.Return(kept);
        _pool.Dispose();
        Assert.True(Transport(kept).IsDisposed);
        _pool.Return(late);
        Assert.True(Transport(late).IsDisposed);
        Assert.Null(_pool.TryRent(check: false));
        Assert.Equal(0, _time.ArmedTimers.Value);
    }

    public void Dispose() => _pool.Dispose();

    private static FakeBackendTransport Transport(BackendConnection connection) => (FakeBackendTransport)connection.Transport;

    private BackendConnection Connection() => new(new FakeBackendTransport(), _buffers);
}
