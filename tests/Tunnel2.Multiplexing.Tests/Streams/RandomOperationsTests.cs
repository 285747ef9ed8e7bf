using System.Globalization;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Windows;
using Tunnel2.Protocol.Errors;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.Streams;

/// <summary>
/// Exchanges whose two ends send, consume, stop, reset and release at random points, many at once over small windows. In all cases:
/// nothing hangs, no byte is another's, and in the end every slot is free, all credit is back and every buffer is returned.
/// </summary>
public class RandomOperationsTests
{
    private const int Workers = 24;

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Slots_credit_and_buffers_are_conserved(EngineKind kind) => SeededRandom.RunAsync(async seeds =>
    {
        for (var round = 0; round < 6; round++)
        {
            var seed = seeds.Next();
            await TestEngine.RunAsync(kind, engine => RoundAsync(engine, seed));
        }
    });

    private static async Task RoundAsync(TestEngine engine, int seed)
    {
        var random = new Random(seed);
        var options = new PairOptions
        {
            StreamWindow = random.Next(16_384, 40_000),
            UplinkWindow = random.Next(16_384, 120_000),
            Capacity = random.Next(500, 60_000),
            MaxStreams = Workers + random.Next(20),

            // In every second round windows grow: the clock is stopped, so that each return of credit except the first asks for more.
            MaxStreamWindow = random.Next(2) * random.Next(40_000, 200_000),
            RoundTrip = 50,
            WindowBudget = new WindowBudget(random.Next(1_000_000)),
        };
        var pair = UplinkPair.Start(engine, stream => ServeAsync(engine, stream, seed), options);
        pair.EntryTransport.Incoming.Tear(new Random(seed + 1));
        pair.AgentTransport.Incoming.Tear(new Random(seed + 2));
        await Task.WhenAll(Enumerable.Range(0, Workers).Select(worker => engine.Start(async () =>
        {
            for (var i = 0; i < 60; i++)
            {
                await CallAsync(engine, pair, seed, (worker * 1000) + i);
            }
        })));
        await pair.FinishAsync();
        Assert.Equal(0, options.WindowBudget.Taken);
    }

    private static async Task CallAsync(TestEngine engine, UplinkPair pair, int seed, int number)
    {
        var random = new Random(HashCode.Combine(seed, number));
        TunnelStream? opened = null;
        await engine.UntilAsync(() => (opened = pair.Entry.TryOpenStream()) is not null, "a slot is free");
        var stream = opened!;
        if (random.Next(12) == 0)
        {
            stream.Release();
            return;
        }

        var length = Length(random);
        if (random.Next(10) == 0)
        {
            // Asks, and leaves without looking at the answer.
            var small = Math.Min(length, 1000);
            stream.SendRequest($"/{number}", Pattern.Make(number, small), end: small == 0 || random.Next(2) == 0, out _);
            await engine.YieldAsync(random.Next(6));
            stream.Release();
            return;
        }

        var piece = random.Next(1, 30_000);
        var readRandom = new Random(random.Next());
        var sending = engine.Start(() => stream.SendAllAsync($"/{number}", 0, number, length, piece));
        var reading = engine.Start(() => ReadAsync(stream, ~number, readRandom, hasHead: true));
        var killing = random.Next(4) == 0 ? engine.Start(() => KillAsync(engine, stream, random.Next(30))) : Task.CompletedTask;
        var inOrder = await reading;
        var status = await sending;
        await killing;
        var failure = stream.Failure;
        Assert.True(
            status != StreamSendStatus.UplinkLost && failure.Kind != StreamFailureKind.UplinkLost, $"{pair.Entry.End} {pair.Agent.End}");
        Assert.True(status != StreamSendStatus.LocalReset || failure.Kind == StreamFailureKind.LocalReset);
        Assert.True(inOrder != false || !failure.IsNone, "What does not end in order says why.");
        stream.Release();
    }

    private static async Task ServeAsync(TestEngine engine, TunnelStream stream, int seed)
    {
        var target = await stream.ReadHeadAsync();
        if (target[0] != '/')
        {
            // Reset before its head was read; nothing is known of it.
            stream.Release();
            return;
        }

        var number = int.Parse(target[1..], CultureInfo.InvariantCulture);
        var random = new Random(HashCode.Combine(seed, ~number));
        var length = Length(random);
        var piece = random.Next(1, 30_000);
        switch (random.Next(8))
        {
            case 0:
                stream.Reset(StreamResetReason.BackendConnect, StreamResetDetail.ConnectionRefused);
                Assert.NotEqual(StreamSendStatus.Sent, stream.SendResponse(200, default, end: true, out _));
                break;
            case 1:
                // A whole answer before the request's end.
                var early = Math.Min(length, 500);
                stream.SendResponse(413, Pattern.Make(~number, early), end: true, out var taken);
                if (taken < early)
                {
                    await stream.WritePatternAsync(~number, taken, early, early, end: true);
                }

                break;
            case 2:
                // Leaves in the middle.
                stream.SendResponse(200, Pattern.Make(~number, Math.Min(length, 100)), end: false, out _);
                await engine.YieldAsync(random.Next(5));
                if (random.Next(2) == 0)
                {
                    stream.ResetAfterHead(StreamResetReason.BackendProtocol);
                }

                break;
            default:
                var readRandom = new Random(random.Next());
                var reading = engine.Start(() => ReadAsync(stream, number, readRandom, hasHead: false));
                if (random.Next(3) == 0)
                {
                    stream.SendResponse(103, default, end: false, out _);
                }

                var sending = engine.Start(() => stream.SendAllAsync(null, 200, ~number, length, piece));
                var killing = random.Next(6) == 0 ? engine.Start(() => KillAsync(engine, stream, random.Next(30))) : Task.CompletedTask;
                await reading;
                await sending;
                await killing;
                break;
        }

        stream.Release();
    }

    /// <summary>Reads with random consumption; gives up at a random point, or not.</summary>
    /// <returns>Whether it ended in order; null when it gave up.</returns>
    private static async Task<bool?> ReadAsync(TunnelStream stream, int seed, Random random, bool hasHead)
    {
        var stopAt = random.Next(6) == 0 ? random.Next(20_000) : int.MaxValue;
        long read = 0;
        while (true)
        {
            await stream.WaitToReadAsync();
            Assert.True(stream.TryRead(out var item));
            switch (item.Kind)
            {
                case StreamItemKind.Head:
                    Assert.True(hasHead && read == 0);
                    stream.ConsumeHead();
                    break;
                case StreamItemKind.Data:
                    var count = random.Next(1, item.Memory.Length + 1);
                    Pattern.Check(item.Memory.Span[..count], seed, read);
                    stream.ConsumeData(count);
                    read += count;
                    break;
                default:
                    return item.Kind == StreamItemKind.End;
            }

            if (read > stopAt)
            {
                stream.Reset(StreamResetReason.Cancel);
                return null;
            }
        }
    }

    private static async Task KillAsync(TestEngine engine, TunnelStream stream, int after)
    {
        await engine.YieldAsync(after);
        stream.Reset(StreamResetReason.Cancel);
    }

    private static int Length(Random random) => random.Next(4) switch
    {
        0 => 0,
        1 => random.Next(1, 200),
        2 => random.Next(1, 20_000),
        _ => random.Next(1, 90_000),
    };
}
