using System.Runtime.ExceptionServices;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Backend;

public sealed class BackendPoolTests : IDisposable
{
    private readonly ManualTimeProvider _time = new();
    private readonly BufferPool _buffers = new();
    private readonly BackendPool _pool;
    private readonly BackendPool _doubtful;
    private readonly AsyncCounter _surplus = new("backends caught");

    public BackendPoolTests()
    {
        _pool = new BackendPool(Connector(), _time, trustsBackend: true) { OnSurplus = _ => _surplus.Increment() };
        _doubtful = new BackendPool(Connector(), _time, trustsBackend: false) { OnSurplus = _ => _surplus.Increment() };
    }

    [Fact]
    public void The_connection_that_was_used_last_is_used_next()
    {
        var (first, second) = (Connection(), Connection());
        _pool.Return(first, ResponseKind.Body);
        _pool.Return(second, ResponseKind.Body);
        Assert.Equal(2, _pool.Idle.Count);
        Assert.Same(second, _pool.TryRent());
        Assert.Same(first, _pool.TryRent());
        Assert.Null(_pool.TryRent());
    }

    [Fact]
    public void A_kept_connection_holds_no_buffer_and_is_known_to_be_reused()
    {
        var connection = Connection();
        connection.RentBuffer(1000);
        Assert.False(connection.IsReused);
        Assert.Equal(1, _buffers.Outstanding);
        _pool.Return(connection, ResponseKind.Body);
        Assert.Equal(0, _buffers.Outstanding);
        Assert.Null(connection.Buffer);
        Assert.True(connection.IsReused);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task What_arrives_on_an_idle_connection_ends_it_at_once(bool bytes)
    {
        var (first, second, third) = (Connection(), Connection(), Connection());
        _pool.Return(first, ResponseKind.Body);
        _pool.Return(second, ResponseKind.Body);
        _time.Advance(TimeSpan.FromSeconds(3));
        _pool.Return(third, ResponseKind.Body);
        Transport(second).Arrive(bytes);
        await Transport(second).Disposed.WaitAsync();
        Assert.Same(third, _pool.TryRent());
        Assert.Same(first, _pool.TryRent());
        Assert.Null(_pool.TryRent());

        // Three seconds after its response it says goodbye and no more than that.
        Assert.Equal(0, _surplus.Value);
    }

    [Fact]
    public void What_only_the_kernel_knows_of_is_asked_for_where_a_connection_was_idle_for_a_moment()
    {
        var (open, closed) = (Connection(), Connection());
        _pool.Return(open, ResponseKind.Body);
        _pool.Return(closed, ResponseKind.Body);
        Transport(closed).IsOpen = false;
        _time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.Same(open, _pool.TryRent());
        Assert.True(Transport(closed).IsDisposed);
    }

    [Fact]
    public void A_connection_on_which_more_has_come_than_the_response_is_not_kept()
    {
        var connection = Connection();
        Transport(connection).Arrive(bytes: true);
        _pool.Return(connection, ResponseKind.Body);
        Assert.True(Transport(connection).IsDisposed);
        Assert.Equal(1, _surplus.Value);
        Assert.Null(_pool.TryRent());
    }

    [Fact]
    public void A_backend_that_is_not_known_yet_has_its_connections_rest()
    {
        var connection = Connection();
        _doubtful.Return(connection, ResponseKind.Body);
        Assert.Null(_doubtful.TryRent());
        _time.Advance(BackendConduct.Rest - TimeSpan.FromMilliseconds(1));
        Assert.Null(_doubtful.TryRent());
        _time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.Same(connection, _doubtful.TryRent());
    }

    [Fact]
    public void Rests_are_over_when_enough_of_them_have_passed_without_a_byte_and_for_that_kind_of_response_alone()
    {
        var connection = Connection();
        for (var i = 0; i < BackendConduct.ProofsNeeded; i++)
        {
            _doubtful.Return(connection, ResponseKind.Body);
            Assert.Null(_doubtful.TryRent());
            _time.Advance(BackendConduct.Rest);
            Assert.Same(connection, _doubtful.TryRent());
        }

        _doubtful.Return(connection, ResponseKind.Body);
        Assert.Same(connection, _doubtful.TryRent());
        _doubtful.Return(connection, ResponseKind.Head);
        Assert.Null(_doubtful.TryRent());
    }

    [Fact]
    public void More_than_a_few_do_not_rest_at_a_time()
    {
        for (var i = 0; i < IdleConnections.MaxResting; i++)
        {
            _doubtful.Return(Connection(), ResponseKind.Body);
        }

        var last = Connection();
        _doubtful.Return(last, ResponseKind.Body);
        Assert.True(Transport(last).IsDiscarded);
        Assert.Equal(IdleConnections.MaxResting, _doubtful.Idle.Count);
    }

    [Fact]
    public async Task A_backend_that_was_caught_gets_a_new_connection_for_each_request_and_another_chance_later()
    {
        var (other, caught, later, again) = (Connection(), Connection(), Connection(), Connection());
        _pool.Return(other, ResponseKind.Head);
        _pool.Return(caught, ResponseKind.Body);
        Transport(caught).Arrive(bytes: true);
        await _surplus.WaitForAsync(1);
        await Transport(other).Disposed.WaitAsync();
        Assert.Equal(0, _pool.Idle.Count);

        _pool.Return(later, ResponseKind.NoContent);
        Assert.True(Transport(later).IsDiscarded);
        _time.Advance(BackendConduct.Penalty + TimeSpan.FromSeconds(1));
        _pool.Return(again, ResponseKind.Body);
        Assert.Null(_pool.TryRent());
        _time.Advance(BackendConduct.Rest);
        Assert.Same(again, _pool.TryRent());
        Assert.Equal(1, _surplus.Value);
    }

    [Fact]
    public void A_suspicion_costs_seconds_and_twice_as_many_each_time_until_the_backend_is_known_again()
    {
        var last = Connection();
        _pool.Return(last, ResponseKind.Body);
        Assert.Same(last, _pool.TryRent());
        foreach (var seconds in new[] { 5, 10, 20 })
        {
            _time.Advance(TimeSpan.FromSeconds(60) - BackendConduct.Rest);
            last = RestOnce();
            _pool.SuspectedInPlaceOfResponse(last);
            _time.Advance(TimeSpan.FromSeconds(seconds - 1));
            var (early, late) = (Connection(), Connection());
            _pool.Return(early, ResponseKind.Body);
            Assert.True(Transport(early).IsDiscarded);
            _time.Advance(TimeSpan.FromSeconds(1));
            _pool.Return(late, ResponseKind.Body);
            Assert.False(Transport(late).IsDiscarded);
            _time.Advance(BackendConduct.Rest);
            Assert.Same(late, _pool.TryRent());
        }

        for (var i = 0; i < BackendConduct.ProofsNeeded; i++)
        {
            last = RestOnce();
        }

        _pool.SuspectedInPlaceOfResponse(last);
        _time.Advance(BackendConduct.FirstSuspicion);
        _pool.Return(last, ResponseKind.Body);
        Assert.False(Transport(last).IsDiscarded);
        Assert.Equal(0, _surplus.Value);

        BackendConnection RestOnce()
        {
            var connection = Connection();
            _pool.Return(connection, ResponseKind.Body);
            _time.Advance(BackendConduct.Rest);
            Assert.Same(connection, _pool.TryRent());
            return connection;
        }
    }

    [Fact]
    public async Task What_comes_while_a_kind_of_response_is_in_doubt_is_blamed_on_that_kind_alone()
    {
        var (head, body) = (Connection(), Connection());
        _doubtful.Return(head, ResponseKind.Head);
        Transport(head).Arrive(bytes: true);
        await _surplus.WaitForAsync(1);
        _doubtful.Return(body, ResponseKind.Body);
        Assert.False(Transport(body).IsDisposed);
        _time.Advance(BackendConduct.Rest);
        Assert.Same(body, _doubtful.TryRent());
        _doubtful.Return(body, ResponseKind.Head);
        Assert.True(Transport(body).IsDiscarded);
    }

    [Fact]
    public void A_connection_that_was_not_used_for_55_seconds_is_closed()
    {
        var (old, young) = (Connection(), Connection());
        _pool.Return(old, ResponseKind.Body);
        _time.Advance(TimeSpan.FromSeconds(30));
        _pool.Return(young, ResponseKind.Body);
        _time.Advance(TimeSpan.FromSeconds(25));
        Assert.False(Transport(old).IsDisposed);
        _time.Advance(TimeSpan.FromSeconds(5));
        Assert.True(Transport(old).IsDisposed);
        Assert.False(Transport(young).IsDisposed);
        Assert.Equal(1, _pool.Idle.Count);
        _time.Advance(TimeSpan.FromSeconds(30));
        Assert.True(Transport(young).IsDisposed);
        Assert.Equal(0, _pool.Idle.Count);
    }

    [Fact]
    public async Task The_wait_of_a_connection_that_the_pool_closes_fails_without_an_exception_thrown()
    {
        var connection = new BackendConnection(new FakeBackendTransport { FailsWaitInDiscard = true }, _buffers);
        var thrown = 0;

        // As a loop does it: without the context of a test, which would take the wait's end elsewhere.
        await Task.Run(() =>
        {
            var thread = Environment.CurrentManagedThreadId;
            EventHandler<FirstChanceExceptionEventArgs> count = (_, _) => thrown += Environment.CurrentManagedThreadId == thread ? 1 : 0;
            _pool.Return(connection, ResponseKind.Body);
            AppDomain.CurrentDomain.FirstChanceException += count;
            Assert.True(_pool.TryCloseIdle());
            AppDomain.CurrentDomain.FirstChanceException -= count;
        });

        Assert.True(Transport(connection).IsDiscarded);
        Assert.Equal(0, thrown);
    }

    [Fact]
    public void No_more_than_the_limit_is_kept()
    {
        for (var i = 0; i < IdleConnections.Max; i++)
        {
            _pool.Return(Connection(), ResponseKind.Body);
        }

        var last = Connection();
        _pool.Return(last, ResponseKind.Body);
        Assert.True(Transport(last).IsDisposed);
        Assert.Equal(IdleConnections.Max, _pool.Idle.Count);
    }

    [Fact]
    public void A_pool_that_is_gone_closes_what_it_has_and_what_comes_back()
    {
        var (kept, late) = (Connection(), Connection());
        _pool.Return(kept, ResponseKind.Body);
        _pool.Dispose();
        Assert.True(Transport(kept).IsDisposed);
        _pool.Return(late, ResponseKind.Body);
        Assert.True(Transport(late).IsDisposed);
        Assert.Null(_pool.TryRent());
        _doubtful.Dispose();
        Assert.Equal(0, _time.ArmedTimers.Value);
    }

    public void Dispose()
    {
        _pool.Dispose();
        _doubtful.Dispose();
    }

    private static FakeBackendTransport Transport(BackendConnection connection) => (FakeBackendTransport)connection.Transport;

    private BackendConnector Connector() => new(new BackendTarget(false, "127.0.0.1", 1), _buffers);

    private BackendConnection Connection() => new(new FakeBackendTransport(), _buffers);
}
