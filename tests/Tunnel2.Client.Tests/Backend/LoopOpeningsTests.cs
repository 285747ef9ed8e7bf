using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Protocol.Errors;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Tests.Backend;

public sealed class LoopOpeningsTests : IDisposable
{
    private const int Most = LoopOpenings.MostInRound;
    private static readonly TimeSpan _limit = AsyncCounter.DefaultTimeout;

    private readonly ManualTimeProvider _time = new();
    private readonly BufferPool _buffers = new();
    private readonly EpollEngine? _engine = EngineSetup.HasEpoll ? new EpollEngine(1) : null;

    [Fact]
    public async Task A_few_begin_in_a_round_and_all_others_in_the_next_ones_in_their_order()
    {
        var openings = Create();
        List<int> order = [];
        List<Task> all = [];
        var rounds = new HashSet<long>();
        await InOneRoundAsync(() =>
        {
            for (var i = 0; i < 10 * Most; i++)
            {
                all.Add(TakeAsync(i));
            }

            Assert.Equal(Enumerable.Range(0, Most), order);
            Assert.Equal(9 * Most, openings.Waiting);
        });
        await Task.WhenAll(all).WaitAsync(_limit);
        Assert.Equal(Enumerable.Range(0, 10 * Most), order);
        Assert.Equal(10, rounds.Count);

        // It has come to rest, and begins anew.
        await InOneRoundAsync(static () => { });
        await InOneRoundAsync(() => Assert.True(openings.NextAsync().AsTask().IsCompletedSuccessfully));

        async Task TakeAsync(int number)
        {
            Assert.Null(await openings.NextAsync());
            Assert.True(_engine!.Loops[0].IsCurrent);
            order.Add(number);
            rounds.Add(_engine.Loops[0].Round);
        }
    }

    [Fact]
    public async Task A_connection_that_comes_back_goes_to_the_request_that_waits_longest()
    {
        _ = Create();
        using var pool = new BackendPool(
            new BackendConnector(new BackendTarget(false, "127.0.0.1", 1), _buffers), TimeProvider.System, trustsBackend: true);
        var openings = pool.Idle.On(_engine!.Loops[0]).Openings!;
        var first = Task.FromResult<BackendConnection?>(null);
        var second = first;
        var connection = Connection();
        await InOneRoundAsync(() =>
        {
            for (var i = 0; i < Most; i++)
            {
                Assert.True(openings.NextAsync().AsTask().IsCompletedSuccessfully);
            }

            (first, second) = (openings.NextAsync().AsTask(), openings.NextAsync().AsTask());
            pool.Return(connection, ResponseKind.Body);
            Assert.Equal(1, openings.Waiting);
            Assert.False(first.IsCompleted);
        });
        Assert.Same(connection, await first.WaitAsync(_limit));
        Assert.Null(await second.WaitAsync(_limit));
        Assert.Equal(0, pool.Idle.Count);
        pool.Return(connection, ResponseKind.Body);
        Assert.Equal(1, pool.Idle.Count);
    }

    [Fact]
    public async Task A_connection_that_became_idle_before_the_turn_is_taken_and_none_is_opened()
    {
        _ = Create();
        await using var server = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        var slots = TunnelSlots.Unlimited();
        using var pool = new BackendPool(
            new BackendConnector(new BackendTarget(false, "127.0.0.1", server.Port), _buffers, slots: slots), TimeProvider.System, true);
        var loop = _engine!.Loops[0];
        var connection = Connection();
        List<Task<(BackendConnection? Connection, BackendFailure Failure)>> all = [];
        await InOneRoundAsync(() =>
        {
            for (var i = 0; i < Most + 1; i++)
            {
                all.Add(pool.ConnectAsync(fresh: false, CancellationToken.None, loop).AsTask());
            }

            // Idle without a hand-over, as one that has rested.
            Assert.True(connection.TryBecomeIdle(pool, ResponseKind.Body, TimeProvider.System.GetTimestamp()));
            Assert.True(pool.Idle.TryAdd(connection, rests: false));
        });
        var opened = await Task.WhenAll(all).WaitAsync(_limit);
        Assert.Same(connection, opened[^1].Connection);
        Assert.All(opened[..^1], static one => Assert.False(one.Connection!.IsReused));
        Assert.Equal(Most, slots.All.Taken);
        foreach (var one in opened[..^1])
        {
            one.Connection!.Dispose();
        }
    }

    [Fact]
    public async Task Beside_connections_that_come_back_only_a_few_are_without_an_answer_and_the_next_begins_when_one_has_it()
    {
        var openings = Create(_time);
        List<Task<BackendConnection?>> all = [];
        await InOneRoundAsync(() =>
        {
            for (var i = 0; i < 4 * OpeningPace.First; i++)
            {
                all.Add(openings.NextAsync().AsTask());
            }
        });
        await NextRoundsAsync();
        Assert.Equal(3 * OpeningPace.First, openings.Waiting);

        await InOneRoundAsync(() => openings.Answered(_time.GetTimestamp(), _time.GetTimestamp()));
        Assert.Null(await all[OpeningPace.First].WaitAsync(_limit));
        await NextRoundsAsync();
        Assert.Equal((3 * OpeningPace.First) - 2, openings.Waiting);

        // Nothing has come back for a while: the others wait in vain.
        while (openings.Waiting > 0)
        {
            await _time.ArmedTimers.WaitForAsync(1);
            _time.Advance(TimeSpan.FromMilliseconds(1));
            await NextRoundsAsync();
        }

        Assert.All(await Task.WhenAll(all).WaitAsync(_limit), Assert.Null);
    }

    [Fact]
    public async Task Of_a_service_that_closes_each_connection_no_request_waits_for_the_clock()
    {
        _ = Create();
        await using var server = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        using var pool = Pool(server.Port);
        for (var i = 0; i < 3 * OpeningPace.First; i++)
        {
            var opened = await pool.ConnectAsync(fresh: false, CancellationToken.None, _engine!.Loops[0]).AsTask().WaitAsync(_limit);
            opened.Connection!.Dispose();
        }
    }

    [Fact]
    public async Task Of_a_service_that_refuses_connections_no_request_waits_for_the_clock()
    {
        _ = Create();
        using var port = new RefusedPort();
        using var pool = Pool(port.Port);
        for (var i = 0; i < 3 * OpeningPace.First; i++)
        {
            var opened = await pool.ConnectAsync(fresh: false, CancellationToken.None, _engine!.Loops[0]).AsTask().WaitAsync(_limit);
            Assert.Equal(StreamResetDetail.ConnectionRefused, opened.Failure.Detail);
        }
    }

    [Fact]
    public async Task Who_waits_when_it_is_over_waits_no_longer()
    {
        var openings = Create(_time);
        List<Task<BackendConnection?>> all = [];
        await InOneRoundAsync(() =>
        {
            for (var i = 0; i < 10 * OpeningPace.First; i++)
            {
                all.Add(openings.NextAsync().AsTask());
            }
        });
        await NextRoundsAsync();
        openings.Dispose();
        Assert.All(await Task.WhenAll(all).WaitAsync(_limit), Assert.Null);
        Assert.Null(await openings.NextAsync().AsTask().WaitAsync(_limit));
    }

    public void Dispose() => _engine?.Dispose();

    /// <summary>With a clock that stands still.</summary>
    private BackendPool Pool(int port) =>
        new(new BackendConnector(new BackendTarget(false, "127.0.0.1", port), _buffers, timeProvider: _time), _time, trustsBackend: true);

    private LoopOpenings Create(TimeProvider? time = null)
    {
        Assert.SkipUnless(_engine is not null, "epoll");
        return new LoopOpenings(_engine!.Loops[0], time ?? TimeProvider.System);
    }

    /// <summary>More rounds than what waits can need.</summary>
    private async Task NextRoundsAsync()
    {
        for (var i = 0; i < 8 * OpeningPace.First / Most; i++)
        {
            await InOneRoundAsync(static () => { });
        }
    }

    private BackendConnection Connection() => new(new FakeBackendTransport { Home = _engine!.Loops[0] }, _buffers);

    private Task InOneRoundAsync(Action work)
    {
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _engine!.Loops[0].Schedule(
            _ =>
            {
                try
                {
                    work();
                    done.SetResult();
                }
                catch (Exception failure)
                {
                    done.SetException(failure);
                }
            },
            null);
        return done.Task.WaitAsync(_limit);
    }
}
