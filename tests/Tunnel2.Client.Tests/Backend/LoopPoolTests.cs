using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Tests.Backend;

/// <summary>A pool whose connections live on several event loops.</summary>
public sealed class LoopPoolTests : IDisposable
{
    private const int Loops = 3;
    private static readonly TimeSpan _limit = AsyncCounter.DefaultTimeout;

    private readonly ManualTimeProvider _time = new();
    private readonly BufferPool _buffers = new();
    private readonly EpollEngine? _engine;
    private BackendPool? _pool;

    public LoopPoolTests()
    {
        _engine = EngineSetup.HasEpoll ? new EpollEngine(Loops) : null;
    }

    [Fact]
    public void A_connection_is_used_again_on_its_own_loop()
    {
        var pool = Pool(TunnelSlots.Unlimited());
        var (first, second) = (Connection(0), Connection(1));
        pool.Return(first, ResponseKind.Body);
        pool.Return(second, ResponseKind.Body);
        Assert.Null(pool.TryRent(Loop(2)));
        Assert.Same(second, pool.TryRent(Loop(1)));
        Assert.Null(pool.TryRent(Loop(1)));
        Assert.Same(first, pool.TryRent(Loop(0)));
        Assert.Equal(0, pool.Idle.Count);
    }

    [Fact]
    public void What_may_be_kept_is_counted_over_all_loops()
    {
        var pool = Pool(TunnelSlots.Unlimited());
        for (var i = 0; i < IdleConnections.Max; i++)
        {
            pool.Return(Connection(i % Loops), ResponseKind.Body);
        }

        for (var i = 0; i < Loops; i++)
        {
            var last = Connection(i);
            pool.Return(last, ResponseKind.Body);
            Assert.True(Fake(last).IsDiscarded);
        }

        Assert.Equal(IdleConnections.Max, pool.Idle.Count);
    }

    [Fact]
    public void What_may_rest_is_counted_over_all_loops()
    {
        var pool = Pool(TunnelSlots.Unlimited(), trusts: false);
        for (var i = 0; i < IdleConnections.MaxResting; i++)
        {
            pool.Return(Connection(i % Loops), ResponseKind.Body);
        }

        var last = Connection(0);
        pool.Return(last, ResponseKind.Body);
        Assert.True(Fake(last).IsDiscarded);
        Assert.Equal(IdleConnections.MaxResting, pool.Idle.Count);
    }

    [Fact]
    public async Task Where_there_may_be_no_more_the_one_that_is_idle_longest_on_any_loop_is_closed_for_a_new_one()
    {
        var slots = new BackendSlots(2, _time).AddTunnel();
        var pool = Pool(slots);
        var (older, younger) = (await NewAsync(slots, 2), await NewAsync(slots, 0));
        pool.Return(older, ResponseKind.Body);
        _time.Advance(TimeSpan.FromSeconds(1));
        pool.Return(younger, ResponseKind.Body);
        Assert.Null(pool.TryRent(Loop(1)));
        Assert.Null(await slots.TakeAsync(pool, CancellationToken.None).AsTask().WaitAsync(_limit));
        Assert.True(Fake(older).IsDiscarded);
        Assert.False(Fake(younger).IsDisposed);
        Assert.Equal((2, 0, 1), (slots.All.Taken, slots.All.Waiting, pool.Idle.Count));
    }

    [Fact]
    public async Task A_connection_that_the_pool_closes_throws_nothing_on_its_loop()
    {
        await using var server = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        var pool = Pool(TunnelSlots.Unlimited(), port: server.Port);
        var (connection, _) = await pool.ConnectAsync(fresh: false, CancellationToken.None, Loop(0));
        pool.Return(connection!, ResponseKind.Body);
        var loop = await OnLoopAsync();
        var thrown = 0;
        EventHandler<System.Runtime.ExceptionServices.FirstChanceExceptionEventArgs> count = (_, _) =>
            thrown += Environment.CurrentManagedThreadId == loop ? 1 : 0;
        AppDomain.CurrentDomain.FirstChanceException += count;
        try
        {
            Assert.True(pool.TryCloseIdle());

            // What its end leaves to do is done in the loop's next turn.
            await OnLoopAsync();
            await OnLoopAsync();
        }
        finally
        {
            AppDomain.CurrentDomain.FirstChanceException -= count;
        }

        Assert.Equal(0, thrown);

        Task<int> OnLoopAsync()
        {
            var done = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
            Loop(0).Schedule(_ => done.SetResult(Environment.CurrentManagedThreadId), null);
            return done.Task.WaitAsync(_limit);
        }
    }

    [Fact]
    public async Task A_connection_that_comes_back_moves_to_the_loop_of_who_waits_longest()
    {
        await using var server = RawTcpServer.Start(static async connection =>
        {
            await connection.ReadExactlyAsync(1);
            await connection.WriteAsync("answer");
            await connection.WaitForEndAsync();
        });
        var slots = new BackendSlots(1, _time).AddTunnel();
        var pool = Pool(slots, port: server.Port);
        var (connection, _) = await pool.ConnectAsync(fresh: false, CancellationToken.None, Loop(0));
        Assert.Same(Loop(0), connection!.Transport.Home);
        var waiting = pool.ConnectAsync(fresh: false, CancellationToken.None, Loop(1)).AsTask();
        Assert.Equal(1, slots.All.Waiting);

        // As a loop does it: without the context of a test, which would take the wait's end elsewhere.
        await Task.Run(() => pool.Return(connection, ResponseKind.Body));
        Assert.Same(connection, (await waiting.WaitAsync(_limit)).Connection);
        Assert.Same(Loop(1), connection.Transport.Home);
        Assert.Equal((0, 1, 1), (Loop(0).HandleCount, Loop(1).HandleCount, slots.All.Taken));

        // The wait that began on the one loop ends on the other.
        var answered = WaitAsync(connection);
        await connection.Transport.SendAsync(new byte[1]);
        Assert.True(await answered.WaitAsync(_limit));
        Assert.Equal(6, await connection.ReceiveAsync(new byte[10]));
        pool.Return(connection, ResponseKind.Body);
        Assert.Null(pool.TryRent(Loop(0)));
        Assert.Same(connection, pool.TryRent(Loop(1)));
        connection.Dispose();
        Assert.Equal((0, 0), (slots.All.Taken, Loop(1).HandleCount));

        async Task<bool> WaitAsync(BackendConnection connection)
        {
            await connection.WaitAsync().ConfigureAwait(false);
            return Loop(1).IsCurrent;
        }
    }

    [Fact]
    public async Task What_is_idle_on_a_loop_that_its_last_uplink_has_left_is_closed_and_given_back()
    {
        var slots = new BackendSlots(10, _time).AddTunnel();
        var pool = Pool(slots);
        pool.Idle.Enter(Loop(0));
        pool.Idle.Enter(Loop(1));
        pool.Idle.Enter(Loop(1));
        var (stays, goes, late) = (await NewAsync(slots, 0), await NewAsync(slots, 1), await NewAsync(slots, 1));
        pool.Return(stays, ResponseKind.Body);
        pool.Return(goes, ResponseKind.Body);
        pool.Idle.Leave(Loop(1));
        Assert.Equal((3, 2), (slots.All.Taken, pool.Idle.Count));
        pool.Idle.Leave(Loop(1));
        Assert.True(Fake(goes).IsDisposed);
        Assert.Equal((2, 1), (slots.All.Taken, pool.Idle.Count));

        // One that was in use in that time finds no loop there either.
        pool.Return(late, ResponseKind.Body);
        Assert.True(Fake(late).IsDisposed);
        Assert.Equal((1, 1), (slots.All.Taken, pool.Idle.Count));
        pool.Idle.Enter(Loop(1));
        pool.Return(await NewAsync(slots, 1), ResponseKind.Body);
        Assert.Equal((2, 2), (slots.All.Taken, pool.Idle.Count));
    }

    [Fact]
    public async Task A_session_that_is_lost_finds_its_connections_again_unless_it_comes_back_elsewhere()
    {
        var slots = new BackendSlots(10, _time).AddTunnel();
        var pool = Pool(slots);
        pool.Idle.Enter(Loop(0));
        pool.Return(await NewAsync(slots, 0), ResponseKind.Body);
        pool.Idle.Leave(Loop(0));
        Assert.Equal((1, 1), (slots.All.Taken, pool.Idle.Count));
        pool.Idle.Enter(Loop(0));
        Assert.Equal(1, pool.Idle.Count);
        pool.Idle.Leave(Loop(0));
        pool.Idle.Enter(Loop(2));
        Assert.Equal((0, 0), (slots.All.Taken, pool.Idle.Count));
    }

    [Fact]
    public Task After_any_events_in_any_order_the_books_agree_with_a_model() => SeededRandom.RunAsync(random => Task.Run(async () =>
    {
        for (var run = 0; run < 30; run++)
        {
            var slots = new BackendSlots(random.Next(1, 12), _time).AddTunnel();
            using var pool = Pool(slots);
            var model = new PoolModel(pool, slots, Loop, Loops);
            for (var step = 0; step < 400; step++)
            {
                await model.StepAsync(random);
                model.Check();
                _time.Advance(TimeSpan.FromTicks(random.Next(1, 2000)));
            }

            model.End();
        }
    }));

    public void Dispose()
    {
        _pool?.Dispose();
        _engine?.Dispose();
    }

    private static FakeBackendTransport Fake(BackendConnection connection) => (FakeBackendTransport)connection.Transport;

    private EpollLoop Loop(int number)
    {
        Assert.SkipUnless(_engine is not null, "epoll");
        return _engine!.Loops[number];
    }

    private BackendPool Pool(TunnelSlots slots, bool trusts = true, int port = 1) =>
        _pool = new BackendPool(new BackendConnector(new BackendTarget(false, "127.0.0.1", port), _buffers, slots: slots), _time, trusts);

    private BackendConnection Connection(int loop, TunnelSlots? slots = null) =>
        new(new FakeBackendTransport { Home = Loop(loop) }, _buffers, slots);

    private async Task<BackendConnection> NewAsync(TunnelSlots slots, int loop)
    {
        Assert.Null(await slots.TakeAsync(null, CancellationToken.None));
        return Connection(loop, slots);
    }
}
