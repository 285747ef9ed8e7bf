using System.Diagnostics;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.Streams;

/// <summary>Stalled streams: what the others notice, what they may hold, and who has to go.</summary>
public class ReceiveBudgetTests
{
    private const int Window = 256 * 1024;
    private const int UplinkWindow = 4 * 1024 * 1024;

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Requests_that_are_not_read_never_own_the_uplink(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var time = new ManualTimeProvider();
        var proceed = new TaskCompletionSource();
        var pair = UplinkPair.Start(engine, async stream =>
        {
            if (await stream.ReadHeadAsync() == "/stalled")
            {
                await proceed.Task;
                Assert.Equal(1_000_000, (await stream.ReadBodyAsync(seed: 0, keep: false)).Length);
            }
            else
            {
                Assert.Equal(5, (await stream.ReadBodyAsync()).Length);
            }

            stream.SendResponse(204, default, end: true, out _);
            stream.Release();
        }, Options(time, 64 * Window));
        var stalled = Enumerable.Range(0, 50).Select(_ => (Stream: pair.Open(), Sending: (Task?)null)).ToArray();
        for (var i = 0; i < stalled.Length; i++)
        {
            var stream = stalled[i].Stream;
            stalled[i].Sending = engine.Start(
                async () => Assert.Equal(StreamSendStatus.Sent, await stream.SendAllAsync("/stalled", 0, 0, 1_000_000, 50_000)));
        }

        await engine.UntilAsync(
            () =>
            {
                // Where the other side has used all credit before there was room for more, only a look gives it more.
                time.Advance(TimeSpan.FromMilliseconds(100));
                return pair.Agent.ReceiveCredit.Held == 50 * Window;
            },
            "each holds its whole window, three times the uplink's in all");
        for (var i = 0; i < 100; i++)
        {
            var stream = pair.Open();
            stream.SendRequest("/quick", "12345"u8);
            Assert.Equal("204", await stream.ReadHeadAsync());
            stream.Release();
        }

        Assert.True(pair.Agent.ReceiveCredit.Granted >= UplinkWindow / 2);
        proceed.SetResult();
        foreach (var (stream, sending) in stalled)
        {
            await sending!;
            Assert.Equal("204", await stream.ReadHeadAsync());
            stream.Release();
        }

        await pair.FinishAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline, 1_000_000)]
    [InlineData(EngineKind.Pool, 1_000_000)]
    [InlineData(EngineKind.Inline, 200_000)]
    [InlineData(EngineKind.Pool, 200_000)]
    public Task Responses_that_are_not_read_are_cut_when_memory_is_short_over_or_not(EngineKind kind, int length) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var time = new ManualTimeProvider();
            var clock = new RememberingClock(time);
            var pair = UplinkPair.Start(engine, async stream =>
            {
                var target = await stream.ReadHeadAsync();
                await stream.ReadBodyAsync();
                await stream.SendAllAsync(null, 200, 0, target == "/stalled" ? length : 5, 50_000);
                stream.Release();
            }, Options(clock, 8 * Window));
            var budget = pair.Entry.Settings.ReceiveBudget;
            var told = new System.Collections.Concurrent.ConcurrentBag<TunnelStream>();
            var cuts = new System.Collections.Concurrent.ConcurrentBag<(long At, int Count)>();
            budget.StreamsCut += count => cuts.Add((RememberingClock.LastSeenHere, count));
            var stalled = Enumerable.Range(0, 40).Select(_ => pair.Open()).ToArray();
            foreach (var stream in stalled)
            {
                stream.NotifyReset((state, _) => told.Add((TunnelStream)state!), stream);
                stream.SendRequest("/stalled");
            }

            await engine.UntilAsync(() => budget.Held > budget.Limit, "more is held than may be");
            await engine.UntilAsync(
                () =>
                {
                    time.Advance(TimeSpan.FromMilliseconds(100));
                    return budget.Held <= budget.Limit && pair.Entry.ReceiveCredit.Granted > UplinkWindow / 4
                        && budget.CutStreams is > 0 and <= 40 && told.Count == budget.CutStreams;
                },
                "enough were cut, and each of them got the report");
            Assert.All(told, static stream => Assert.Equal(StreamResetDetail.Stalled, stream.Failure.Detail));
            await engine.UntilAsync(
                () =>
                {
                    time.Advance(TimeSpan.FromMilliseconds(100));
                    return cuts.Sum(static cut => cut.Count) == budget.CutStreams;
                },
                "all that were cut are reported");
            var times = cuts.Select(static cut => cut.At).Order().ToArray();
            Assert.All(
                times.Zip(times.Skip(1)), pair => Assert.True(time.GetElapsedTime(pair.First, pair.Second) >= TimeSpan.FromSeconds(1)));
            for (var i = 0; i < 50; i++)
            {
                var stream = pair.Open();
                stream.SendRequest("/quick");
                var answer = engine.Start(async () =>
                {
                    Assert.Equal("200", await stream.ReadHeadAsync());
                    Assert.Equal(5, (await stream.ReadBodyAsync()).Length);
                });
                await engine.UntilAsync(
                    () =>
                    {
                        time.Advance(TimeSpan.FromMilliseconds(100));
                        return answer.IsCompleted;
                    },
                    "the others continue");
                await answer;
                stream.Release();
            }

            foreach (var stream in stalled)
            {
                stream.Release();
            }

            await pair.FinishAsync();
            time.Advance(TimeSpan.FromSeconds(1));
            Assert.Equal(0, budget.Held);
            Assert.Equal(int.MaxValue, budget.StreamShare);
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task An_observer_that_throws_when_streams_are_cut_keeps_no_other_from_being_cut(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var time = new ManualTimeProvider();
            var faults = new ContainedFaults(time);
            var pair = UplinkPair.Start(engine, async stream =>
            {
                await stream.ReadHeadAsync();
                await stream.ReadBodyAsync();
                await stream.SendAllAsync(null, 200, 0, 1_000_000, 50_000);
                stream.Release();
            }, Options(time, 8 * Window, faults));
            var budget = pair.Entry.Settings.ReceiveBudget;
            var (told, sums) = (0, 0);
            budget.StreamsCut += count =>
            {
                Interlocked.Add(ref sums, count);
                throw new InvalidTimeZoneException();
            };
            var stalled = Enumerable.Range(0, 40).Select(_ => pair.Open()).ToArray();
            foreach (var stream in stalled)
            {
                stream.NotifyReset(
                    (_, _) =>
                    {
                        Interlocked.Increment(ref told);
                        throw new InvalidTimeZoneException();
                    },
                    null);
                stream.SendRequest("/stalled");
            }

            await engine.UntilAsync(() => budget.Held > budget.Limit, "more is held than may be");
            await engine.UntilAsync(
                () =>
                {
                    time.Advance(TimeSpan.FromMilliseconds(100));
                    var (streams, cut) = (Volatile.Read(ref told), budget.CutStreams);
                    return streams >= 8 && streams == cut && Volatile.Read(ref sums) == cut && faults.Count > streams
                        && budget.Held <= budget.Limit;
                },
                "enough were cut, each got the report, all were reported, and each of these threw");
            foreach (var stream in stalled)
            {
                stream.Release();
            }

            await pair.FinishAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Who_reads_slowly_gets_a_smaller_window_and_is_not_cut(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var time = new ManualTimeProvider();
        var pair = UplinkPair.Start(engine, async stream =>
        {
            await stream.ReadHeadAsync();
            await stream.ReadBodyAsync();
            await stream.SendAllAsync(null, 200, 0, 2_000_000, 50_000);
            stream.Release();
        }, Options(time, 8 * Window));
        var budget = pair.Entry.Settings.ReceiveBudget;
        var slow = pair.Open();
        slow.SendRequest("/slow");
        var stalled = Enumerable.Range(0, 9).Select(_ => pair.Open()).ToArray();
        foreach (var stream in stalled)
        {
            stream.SendRequest("/stalled");
        }

        Assert.Equal("200", await slow.ReadHeadAsync());

        // Whether any stalled one has to be cut depends on who was faster: the slow one may make enough room by itself.
        await engine.UntilAsync(() => budget.Held >= budget.Limit, "all that may be held is held");
        var read = 0;
        var advanced = Stopwatch.GetTimestamp();
        await engine.UntilAsync(
            () =>
            {
                var before = read;
                Assert.True(slow.Failure.IsNone, $"{slow.Failure} after {read} bytes, {budget.CutStreams} cut");

                // Several pieces for each look: at the next one nothing of what the last one saw is still here, for any order of the
                // threads.
                while (slow.TryRead(out var item) && item.Kind == StreamItemKind.Data)
                {
                    read += item.Memory.Length;
                    slow.ConsumeData(item.Memory.Length);
                }

                // While nothing comes, no more time passes than really does: a thread of the pool that has not run yet is no stall.
                if (read > before || Stopwatch.GetElapsedTime(advanced) >= TimeSpan.FromMilliseconds(20))
                {
                    time.Advance(TimeSpan.FromMilliseconds(20));
                    advanced = Stopwatch.GetTimestamp();
                }

                return read == 2_000_000;
            },
            "the slow one has got everything");
        Assert.True(slow.Failure.IsNone);

        // With four more there are certainly too many.
        var more = Enumerable.Range(0, 4).Select(_ => pair.Open()).ToArray();
        foreach (var stream in more)
        {
            stream.SendRequest("/stalled");
        }

        await engine.UntilAsync(
            () =>
            {
                time.Advance(TimeSpan.FromMilliseconds(20));
                return budget.CutStreams > 0;
            },
            "the stalled ones were too many");
        Assert.InRange(budget.CutStreams, 1, 13);
        foreach (var stream in stalled.Concat(more).Append(slow))
        {
            stream.Release();
        }

        await pair.FinishAsync();
    });

    [Fact]
    public Task As_many_are_cut_as_bring_it_down_to_three_quarters_and_no_more() => TestEngine.RunAsync(EngineKind.Inline, async engine =>
    {
        var time = new ManualTimeProvider();
        var (pair, stalled) = await StallAsync(engine, Options(time, 8 * Window), 12);
        var budget = pair.Entry.Settings.ReceiveBudget;

        // The first portion is the uplink's own.
        Assert.Equal((11L * Window, 0), (budget.Held, budget.CutStreams));

        // A short budget's first look is on a thread of the pool. If the clock moved in that time, the streams would not be equally old.
        await engine.UntilAsync(() => budget.StreamShare != int.MaxValue, "the first look has seen them");
        time.Advance(TimeSpan.FromMilliseconds(50));
        Assert.InRange(budget.CutStreams, 4, 6);
        Assert.True(budget.Held <= budget.Limit);
        foreach (var stream in stalled)
        {
            stream.Release();
        }

        await pair.FinishAsync();
    });

    [Theory]
    [InlineData(22, int.MaxValue)]
    [InlineData(21, 21 * Window / 2 / 12)]
    public Task When_more_than_half_is_held_each_stream_has_its_share_of_the_other_half(int windows, int share) => TestEngine.RunAsync(
        EngineKind.Inline,
        async engine =>
        {
            var time = new ManualTimeProvider();
            var (pair, stalled) = await StallAsync(engine, Options(time, windows * Window), 12);
            var budget = pair.Entry.Settings.ReceiveBudget;
            Assert.Equal((11L * Window, int.MaxValue), (budget.Held, budget.StreamShare));
            time.Advance(TimeSpan.FromSeconds(1));
            Assert.Equal((share, 0), (budget.StreamShare, budget.CutStreams));
            foreach (var stream in stalled)
            {
                stream.Release();
            }

            await pair.FinishAsync();
        });

    [Theory]
    [InlineData(8, 0)]
    [InlineData(9, UplinkWindow / 4)]
    public Task An_uplink_borrows_when_less_than_half_of_its_window_is_left(int streams, int borrowed) => TestEngine.RunAsync(
        EngineKind.Inline,
        async engine =>
        {
            var (pair, stalled) = await StallAsync(engine, Options(new ManualTimeProvider(), 64 * Window), streams);
            var credit = pair.Entry.ReceiveCredit;
            Assert.Equal((streams * Window, UplinkWindow + borrowed), (credit.Held, credit.Size));
            foreach (var stream in stalled)
            {
                stream.Release();
            }

            await pair.FinishAsync();
        });

    [Fact]
    public Task Heads_that_wait_behind_others_are_held_as_well() => TestEngine.RunAsync(EngineKind.Inline, async engine =>
    {
        var value = new string('v', 60_000);
        var pair = UplinkPair.Start(
            engine,
            async stream =>
            {
                await stream.ReadHeadAsync();
                await stream.ReadBodyAsync();
                stream.SendResponse(103, default, end: false, out _, value);
                stream.SendResponse(103, default, end: false, out _, value);
                stream.SendResponse(200, default, end: true, out _, value);
                stream.Release();
            },
            Options(new ManualTimeProvider(), 64 * Window));
        var budget = pair.Entry.Settings.ReceiveBudget;
        var unread = Enumerable.Range(0, 8).Select(_ => pair.Open()).ToArray();
        foreach (var stream in unread)
        {
            stream.SendRequest("/");
        }

        // Two of three wait in each: 960 kB, of which the first portion is the uplink's own.
        await engine.UntilAsync(() => budget.Held == 3 * ReceiveBudget.Portion, "what waits is known");
        foreach (var stream in unread)
        {
            Assert.Equal("103", await stream.ReadHeadAsync());
            Assert.Equal("103", await stream.ReadHeadAsync());
            Assert.Equal("200", await stream.ReadHeadAsync());
            stream.Release();
        }

        await pair.FinishAsync();
        Assert.Equal(0, budget.Held);
    });

    [Fact]
    public void The_age_is_that_of_the_oldest_byte_however_often_a_little_is_taken()
    {
        var time = new ManualTimeProvider();
        var age = default(HeldAge);
        Assert.Equal(TimeSpan.Zero, age.Look(100, 0, time, time.GetTimestamp()));
        for (var second = 1; second <= 9; second++)
        {
            time.Advance(TimeSpan.FromSeconds(1));
            Assert.Equal(TimeSpan.FromSeconds(second), age.Look(100, second * 10, time, time.GetTimestamp()));
        }

        time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(TimeSpan.Zero, age.Look(100, 100, time, time.GetTimestamp()));
        Assert.Equal(TimeSpan.Zero, age.Look(0, 200, time, time.GetTimestamp()));
        time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(TimeSpan.Zero, age.Look(1, 200, time, time.GetTimestamp()));
    }

    [Fact]
    public void A_head_behind_another_is_counted_until_it_is_read_and_an_interim_one_too_many_is_dropped()
    {
        var heads = default(UnreadHeads);
        Assert.Equal(HeadRoom.Kept, heads.Add(60_000, isInterim: true, out var waits));
        Assert.Equal(0, waits);
        Assert.Equal(HeadRoom.Kept, heads.Add(60_000, isInterim: true, out waits));
        Assert.Equal(60_000, waits);
        Assert.Equal(HeadRoom.Dropped, heads.Add(60_000, isInterim: true, out waits));
        Assert.Equal(0, waits);
        Assert.Equal(HeadRoom.Kept, heads.Add(60_000, isInterim: false, out waits));
        Assert.Equal(60_000, waits);
        Assert.Equal(120_000, heads.Bytes);
        heads.Remove(60_000, out var first);
        heads.Remove(60_000, out var second);
        heads.Remove(60_000, out var third);
        Assert.Equal(120_000, first + second + third);
        Assert.Equal(0, heads.Bytes);
        for (var i = 3; i < UnreadHeads.MaxInterim; i++)
        {
            Assert.Equal(HeadRoom.Kept, heads.Add(1, isInterim: true, out _));
            heads.Remove(1, out _);
        }

        Assert.Equal(HeadRoom.TooMany, heads.Add(1, isInterim: true, out _));
    }

    /// <summary>Opens streams whose responses are not read, and waits until each holds its whole window.</summary>
    private static async Task<(UplinkPair Pair, TunnelStream[] Stalled)> StallAsync(TestEngine engine, PairOptions options, int count)
    {
        var pair = UplinkPair.Start(
            engine,
            async stream =>
            {
                await stream.ReadHeadAsync();
                await stream.ReadBodyAsync();
                await stream.SendAllAsync(null, 200, 0, 1_000_000, 50_000);
                stream.Release();
            },
            options);
        var stalled = Enumerable.Range(0, count).Select(_ => pair.Open()).ToArray();
        foreach (var stream in stalled)
        {
            stream.SendRequest("/stalled");
        }

        await engine.UntilAsync(() => pair.Entry.ReceiveCredit.Held == count * Window, "each holds its window");
        return (pair, stalled);
    }

    private static PairOptions Options(TimeProvider time, long limit, ContainedFaults? faults = null) => new()
    {
        StreamWindow = Window,
        UplinkWindow = UplinkWindow,
        ReceiveBudget = new ReceiveBudget(limit, time, faults),
        Adjust = settings => settings with { Faults = faults ?? settings.Faults },
    };

    /// <summary>A clock that remembers what it showed the thread that asks: others may have moved it on since.</summary>
    private sealed class RememberingClock(ManualTimeProvider inner) : TimeProvider
    {
        [ThreadStatic]
        private static long _lastSeen;

        /// <summary>The last timestamp that this thread was shown.</summary>
        public static long LastSeenHere => _lastSeen;

        public override long TimestampFrequency => inner.TimestampFrequency;

        public override long GetTimestamp() => _lastSeen = inner.GetTimestamp();

        public override DateTimeOffset GetUtcNow() => inner.GetUtcNow();

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
            inner.CreateTimer(callback, state, dueTime, period);
    }
}
