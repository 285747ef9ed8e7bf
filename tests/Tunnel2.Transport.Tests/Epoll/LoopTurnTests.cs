using System.Diagnostics;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Epoll.Pipes;

namespace Tunnel2.Transport.Tests.Epoll;

/// <summary>No connection holds the loop, however much there is to do for it.</summary>
public sealed class LoopTurnTests : IAsyncLifetime
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly EpollLoop _loop = new();
    private readonly BufferPool _buffers = new();
    private SocketDuplexPipe _pipe = null!;
    private Socket _peer = null!;

    public async ValueTask InitializeAsync() => (_pipe, _peer) = await ConnectAsync();

    public async ValueTask DisposeAsync()
    {
        _pipe.Abort();
        await _pipe.CloseAsync();
        _peer.Dispose();
        _loop.Dispose();
    }

    [Fact]
    public async Task A_consumer_of_many_small_things_has_its_share_of_each_round_and_no_more()
    {
        const int Things = 5_000;
        await _peer.SendAsync(new byte[Things]);
        Assert.True(_peer.Poll(_limit, SelectMode.SelectWrite));
        var rounds = await OnLoopAsync(() => TakeOneByOneAsync(Things, null)).WaitAsync(_limit);
        Assert.Equal(Things, rounds.Count);
        Assert.All(rounds.CountBy(static round => round), static share => Assert.InRange(share.Value, 1, WorkTurn.Steps));
    }

    [Fact]
    public async Task A_consumer_to_which_bytes_are_much_work_has_a_turn_of_time_and_not_of_bytes()
    {
        const int Piece = 4 * 1024;
        const int Pieces = 10;
        await _peer.SendAsync(new byte[Piece * Pieces]);
        Assert.True(_peer.Poll(_limit, SelectMode.SelectWrite));
        var rounds = await OnLoopAsync(async () =>
        {
            var rounds = new List<long>();
            while (rounds.Count < Pieces)
            {
                var read = await _pipe.Input.ReadAtLeastAsync(Piece);
                rounds.Add(_loop.Round);
                Burn(TimeSpan.FromMilliseconds(2));
                _pipe.Input.AdvanceTo(read.Buffer.GetPosition(Piece));
            }

            return rounds;
        }).WaitAsync(_limit);
        Assert.Equal(Pieces, rounds.Distinct().Count());
    }

    [Fact]
    public async Task Between_two_turns_of_one_everything_that_the_sockets_have_is_served()
    {
        const int Things = 1_000;
        var (other, visitor) = await ConnectAsync();
        using (visitor)
        {
            await _peer.SendAsync(new byte[Things]);
            var taken = 0;
            var takenWhenServed = -1;
            await OnLoopAsync(async () =>
            {
                var serving = ServeAsync();
                await TakeOneByOneAsync(Things, count =>
                {
                    taken = count;
                    if (count == 1)
                    {
                        // Comes while the first turn lasts.
                        visitor.Send(new byte[1]);
                    }
                });
                await serving;
            }).WaitAsync(_limit);
            Assert.InRange(takenWhenServed, 1, 2 * WorkTurn.Steps);

            async Task ServeAsync()
            {
                await other.Input.ReadAsync();
                takenWhenServed = taken;
            }
        }

        other.Abort();
    }

    [Fact]
    public async Task Many_that_wait_for_turns_do_not_keep_the_loop_from_its_sockets()
    {
        const int Greedy = 20;
        using var stop = new CancellationTokenSource();
        var turns = 0;
        var ended = 0;
        var allHadTurns = new WaitSignal("each had a turn");
        var allEnded = new WaitSignal("each has ended");
        await OnLoopAsync(() =>
        {
            for (var i = 0; i < Greedy; i++)
            {
                _loop.Turns.Schedule(Again, null);
            }

            return Task.CompletedTask;
        });
        await allHadTurns.WaitAsync(_limit);
        var turnsBefore = 0;
        var turnsWhenServed = await OnLoopAsync(async () =>
        {
            var reading = _pipe.Input.ReadAsync();
            turnsBefore = turns;
            _peer.Send(new byte[1]);
            await reading;
            return turns;
        }).WaitAsync(_limit);
        await stop.CancelAsync();
        Assert.InRange(turnsWhenServed - turnsBefore, 0, 5);
        await allEnded.WaitAsync(_limit);

        void Again(object? state)
        {
            Burn(TimeSpan.FromMilliseconds(1));
            if (++turns > Greedy)
            {
                allHadTurns.Set();
            }

            if (stop.IsCancellationRequested)
            {
                if (++ended == Greedy)
                {
                    allEnded.Set();
                }
            }
            else
            {
                _loop.Turns.Schedule(Again, null);
            }
        }
    }

    [Fact]
    public async Task Much_work_of_other_threads_does_not_keep_the_loop_from_its_sockets()
    {
        const int Works = 40;
        var reading = _pipe.Input.ReadAsync();
        var done = 0;
        var allDone = new WaitSignal("all works are done");
        var doneWhenServed = -1;
        var served = OnLoopAsync(async () =>
        {
            await reading;
            doneWhenServed = done;
        });
        using var held = new ManualResetEventSlim();
        _loop.Schedule(_ => Assert.True(held.Wait(_limit)), null);
        for (var i = 0; i < Works; i++)
        {
            _loop.Schedule(_ =>
            {
                Burn(TimeSpan.FromMilliseconds(1));
                if (++done == Works)
                {
                    allDone.Set();
                }
            }, null);
        }

        await _peer.SendAsync(new byte[1]);
        held.Set();
        await served.WaitAsync(_limit);
        Assert.InRange(doneWhenServed, 0, 10);
        await allDone.WaitAsync(_limit);
    }

    [Fact]
    public async Task A_backend_that_sends_without_an_end_is_received_in_turns()
    {
        const int Length = 4 * 1024 * 1024;
        var (left, right) = await LoopbackPair.ConnectAsync();
        using (right)
        {
            var channel = new EpollChannel(_loop, DescriptorOf.Take(left)) { TakesTurns = true };
            Assert.Equal(0, channel.Register());
            var sending = Task.Run(async () =>
            {
                for (var sent = 0; sent < Length;)
                {
                    sent += await right.SendAsync(new byte[Math.Min(64 * 1024, Length - sent)]);
                }
            });
            var perRound = new Dictionary<long, int>();
            await OnLoopAsync(async () =>
            {
                var buffer = new byte[16];
                for (var received = 0; received < Length / 64;)
                {
                    received += await channel.ReceiveAsync(buffer);
                    perRound[_loop.Round] = perRound.GetValueOrDefault(_loop.Round) + 1;
                }
            }).WaitAsync(_limit);

            // One that an event or the turn itself brought, and a share.
            Assert.All(perRound.Values, static count => Assert.InRange(count, 1, WorkTurn.Steps + 2));
            channel.Abort();
            right.Dispose();
            await sending.ContinueWith(static _ => { }, TaskScheduler.Default);
        }
    }

    [Fact]
    public async Task Whether_there_is_something_is_reported_out_of_turn()
    {
        var (left, right) = await LoopbackPair.ConnectAsync();
        using (right)
        {
            var channel = new EpollChannel(_loop, DescriptorOf.Take(left)) { TakesTurns = true };
            Assert.Equal(0, channel.Register());
            await right.SendAsync(new byte[WorkTurn.Steps + 1]);
            await OnLoopAsync(async () =>
            {
                await channel.ReceiveAsync(Memory<byte>.Empty);
                for (var i = 0; i < WorkTurn.Steps; i++)
                {
                    Assert.Equal(1, await channel.ReceiveAsync(new byte[1]));
                }

                // An idle connection asks this before its next request: an answer in the next round would be too late.
                var asked = channel.ReceiveAsync(Memory<byte>.Empty);
                var isTold = asked.IsCompletedSuccessfully;
                await asked;
                Assert.True(isTold);
            }).WaitAsync(_limit);
            channel.Abort();
        }
    }

    [Fact]
    public async Task An_aborted_connection_that_waits_for_its_turn_fails_once()
    {
        await _peer.SendAsync(new byte[100]);
        await OnLoopAsync(async () =>
        {
            for (var i = 0; i < WorkTurn.Steps; i++)
            {
                var read = await _pipe.Input.ReadAsync();
                _pipe.Input.AdvanceTo(read.Buffer.GetPosition(1));
            }

            var waiting = _pipe.Input.ReadAsync();
            Assert.False(waiting.IsCompleted);
            _pipe.Abort();
            await Assert.ThrowsAsync<IOException>(async () => await waiting);
        }).WaitAsync(_limit);
        Assert.Equal(0, _loop.Faults.Count);
    }

    [Fact]
    public async Task A_cancelled_wait_for_a_turn_gives_what_is_there_and_reading_continues()
    {
        await _peer.SendAsync(new byte[100]);
        await OnLoopAsync(async () =>
        {
            var left = 100L;
            for (var i = 0; i < WorkTurn.Steps; i++)
            {
                var read = await _pipe.Input.ReadAsync();
                _pipe.Input.AdvanceTo(read.Buffer.GetPosition(1));
                left--;
            }

            var waiting = _pipe.Input.ReadAsync();
            _pipe.Input.CancelPendingRead();
            var canceled = await waiting;
            Assert.True(canceled.IsCanceled);
            _pipe.Input.AdvanceTo(canceled.Buffer.Start);
            while (left > 0)
            {
                var read = await _pipe.Input.ReadAsync();
                _pipe.Input.AdvanceTo(read.Buffer.GetPosition(1));
                left--;
            }
        }).WaitAsync(_limit);
    }

    [Fact]
    public async Task The_end_of_the_loop_does_not_wait_for_work_that_has_none()
    {
        using var loop = new EpollLoop();
        var ran = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var behind = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        loop.Schedule(Again, null);
        loop.Turns.Schedule(Turn, null);
        await ran.Task.WaitAsync(_limit);
        loop.Dispose();
        await behind.Task.WaitAsync(_limit);

        void Again(object? state)
        {
            ran.TrySetResult();
            if (!loop.IsCurrent && Thread.CurrentThread.IsThreadPoolThread)
            {
                behind.TrySetResult();
                return;
            }

            loop.Schedule(Again, null);
        }

        void Turn(object? state)
        {
            if (loop.IsCurrent)
            {
                loop.Turns.Schedule(Turn, null);
            }
        }
    }

    private static void Burn(TimeSpan time)
    {
        var since = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(since) < time)
        {
            Thread.SpinWait(10);
        }
    }

    private async Task<(SocketDuplexPipe Pipe, Socket Peer)> ConnectAsync()
    {
        var (left, right) = await LoopbackPair.ConnectAsync();
        var pipe = new SocketDuplexPipe(_loop, DescriptorOf.Take(left), _buffers);
        Assert.Equal(0, pipe.Register());
        return (pipe, right);
    }

    private async Task<List<long>> TakeOneByOneAsync(int things, Action<int>? onTaken)
    {
        var rounds = new List<long>();
        while (rounds.Count < things)
        {
            var read = await _pipe.Input.ReadAsync().ConfigureAwait(false);
            rounds.Add(_loop.Round);
            onTaken?.Invoke(rounds.Count);
            _pipe.Input.AdvanceTo(read.Buffer.GetPosition(1));
        }

        return rounds;
    }

    private Task<bool> OnLoopAsync(Func<Task> action) => OnLoopAsync(async () =>
    {
        await action().ConfigureAwait(false);
        return true;
    });

    private Task<T> OnLoopAsync<T>(Func<Task<T>> action)
    {
        // The test continues elsewhere: it waits for the loop, and must not do so on it.
        var ended = new TaskCompletionSource<T>(TaskCreationOptions.RunContinuationsAsynchronously);
        _loop.Schedule(_ => _ = RunAsync(), null);
        return ended.Task;

        async Task RunAsync()
        {
            try
            {
                ended.SetResult(await action().ConfigureAwait(false));
            }
            catch (Exception exception)
            {
                ended.SetException(exception);
            }
        }
    }
}
