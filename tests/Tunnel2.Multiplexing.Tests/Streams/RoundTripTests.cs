using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Multiplexing.Tests.Streams;

public class RoundTripTests
{
    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task A_request_and_a_response_with_body_and_end_are_one_frame_each(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var pair = UplinkPair.Start(engine, async stream =>
        {
            Assert.Equal("/a?b", await stream.ReadHeadAsync());
            Assert.Equal("ping", System.Text.Encoding.ASCII.GetString((await stream.ReadBodyAsync()).Bytes));
            Assert.Equal(StreamSendStatus.Sent, stream.SendResponse(200, "pong"u8, end: true, out var taken));
            Assert.Equal(4, taken);
            stream.Release();
        });
        var stream = pair.Open();
        Assert.Equal(StreamSendStatus.Sent, stream.SendRequest("/a?b", "ping"u8));
        Assert.Equal("200", await stream.ReadHeadAsync());
        var body = await stream.ReadBodyAsync();
        Assert.True(body.InOrder);
        Assert.Equal("pong"u8.ToArray(), body.Bytes);
        Assert.True(stream.Failure.IsNone);
        stream.Release();
        await pair.UntilQuietAsync();
        Assert.Equal(1, pair.Entry.Statistics.FramesSent);
        Assert.Equal(1, pair.Agent.Statistics.FramesSent);
        await pair.FinishAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task First_body_bytes_that_were_not_announced_get_a_larger_buffer_and_the_first_one_goes_back(EngineKind kind) =>
        TestEngine.RunAsync(kind, async engine =>
        {
            var pair = UplinkPair.Start(engine, async stream =>
            {
                Assert.Equal("/", await stream.ReadHeadAsync());
                Assert.Equal(10_000, (await stream.ReadBodyAsync(seed: 0)).Length);
                stream.SendResponse(204, default, end: true, out _);
                stream.Release();
            });
            var stream = pair.Open();
            Assert.Equal(StreamSendStatus.Sent, stream.EndHead(WriteHead(stream), Pattern.Make(0, 10_000), end: true, out var taken));
            Assert.Equal(10_000, taken);
            Assert.Equal("204", await stream.ReadHeadAsync());
            stream.Release();
            await pair.FinishAsync();

            static int WriteHead(TunnelStream stream)
            {
                var writer = new HeaderBlockWriter(stream.BeginHead(64));
                writer.BeginRequest(HeaderBlockFlags.None, "POST", "http", "web.localhost", "/");
                return writer.Complete();
            }
        });

    [Theory]
    [InlineData(EngineKind.Inline, 0, 0, 1)]
    [InlineData(EngineKind.Inline, 1, 16 * 1024, 7)]
    [InlineData(EngineKind.Inline, 16 * 1024 + 1, 3_000_000, 4096)]
    [InlineData(EngineKind.Inline, 5_000_000, 4_000_000, 100_000)]
    [InlineData(EngineKind.Pool, 0, 0, 1)]
    [InlineData(EngineKind.Pool, 1, 16 * 1024, 7)]
    [InlineData(EngineKind.Pool, 16 * 1024 + 1, 3_000_000, 4096)]
    [InlineData(EngineKind.Pool, 5_000_000, 4_000_000, 100_000)]
    public Task Bodies_of_any_size_go_both_ways_at_once(EngineKind kind, int request, int response, int piece) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var pair = UplinkPair.Start(engine, async stream =>
            {
                Assert.Equal("/", await stream.ReadHeadAsync());
                var reading = engine.Start(async () =>
                {
                    var body = await stream.ReadBodyAsync(seed: 1, keep: false);
                    Assert.True(body.InOrder);
                    Assert.Equal(request, body.Length);
                });
                Assert.Equal(StreamSendStatus.Sent, await stream.SendAllAsync(null, 200, seed: 2, response, piece));
                await reading;
                stream.Release();
            });
            var stream = pair.Open();
            var sending = engine.Start(
                async () => Assert.Equal(StreamSendStatus.Sent, await stream.SendAllAsync("/", 0, seed: 1, request, piece)));
            Assert.Equal("200", await stream.ReadHeadAsync());
            var body = await stream.ReadBodyAsync(seed: 2, keep: false, step: 5000);
            Assert.True(body.InOrder);
            Assert.Equal(response, body.Length);
            await sending;
            stream.Release();
            await pair.FinishAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Interim_heads_come_before_the_final_one_and_trailers_behind_the_body(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var pair = UplinkPair.Start(engine, async stream =>
            {
                await stream.ReadHeadAsync();
                Assert.Equal("sum", (await stream.ReadBodyAsync()).Trailers);
                stream.SendResponse(103, default, end: false, out _, "link");
                stream.SendResponse(102, default, end: false, out _);
                stream.SendResponse(200, "ab"u8, end: false, out _);
                await stream.WriteAsync("cd"u8.ToArray(), end: false);
                Assert.Equal(StreamSendStatus.Sent, stream.SendTrailers("four"));
                stream.Release();
            });
            var stream = pair.Open();
            stream.SendRequest("/", "x"u8, end: false, out _);
            Assert.Equal(StreamSendStatus.Sent, stream.SendTrailers("sum"));
            Assert.Equal("103", await stream.ReadHeadAsync());
            Assert.Equal("102", await stream.ReadHeadAsync());
            Assert.Equal("200", await stream.ReadHeadAsync());
            var body = await stream.ReadBodyAsync();
            Assert.Equal("abcd"u8.ToArray(), body.Bytes);
            Assert.Equal("four", body.Trailers);
            Assert.True(body.InOrder);
            stream.Release();
            await pair.FinishAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task An_upgraded_stream_carries_raw_bytes_both_ways_until_each_side_ends(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            var pair = UplinkPair.Start(engine, async stream =>
            {
                await stream.ReadHeadAsync();
                stream.SendResponse(101, default, end: false, out _);
                while (true)
                {
                    await stream.WaitToReadAsync();
                    Assert.True(stream.TryRead(out var item));
                    if (item.Kind == StreamItemKind.End)
                    {
                        break;
                    }

                    var echo = item.Memory.ToArray();
                    stream.ConsumeData(echo.Length);
                    await stream.WriteAsync(echo, end: false);
                }

                await stream.WriteAsync("bye"u8.ToArray(), end: true);
                stream.Release();
            });
            var stream = pair.Open();
            stream.SendRequest("/chat", default, end: false, out _, HeaderBlockFlags.Upgrade);
            Assert.Equal("101", await stream.ReadHeadAsync());
            for (var i = 1; i < 200; i++)
            {
                var message = Pattern.Make(i, i * 37);
                await stream.WriteAsync(message, end: false);
                var read = 0;
                while (read < message.Length)
                {
                    await stream.WaitToReadAsync();
                    Assert.True(stream.TryRead(out var item));
                    Pattern.Check(item.Memory.Span, i, read);
                    read += item.Memory.Length;
                    stream.ConsumeData(item.Memory.Length);
                }
            }

            await stream.WriteAsync(default, end: true);
            Assert.Equal("bye"u8.ToArray(), (await stream.ReadBodyAsync()).Bytes);
            stream.Release();
            await pair.FinishAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Bodies_larger_than_every_window_go_through_small_windows(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var options = new PairOptions { StreamWindow = 16 * 1024, UplinkWindow = 40 * 1024, Capacity = 3000 };
        var pair = UplinkPair.Start(engine, Exchange.EchoAsync, options);
        pair.EntryTransport.Incoming.Tear(new Random(1));
        pair.AgentTransport.Incoming.Tear(new Random(2));
        await Task.WhenAll(
            Enumerable.Range(0, 8).Select(i => engine.Start(() => Exchange.RunAsync(engine, pair.Open(), i, 300_000, 9000))));
        await pair.FinishAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Two_thousand_streams_are_open_at_once(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var all = new TaskCompletionSource(TaskCreationOptions.None);
        var arrived = 0;
        var pair = UplinkPair.Start(engine, async stream =>
        {
            if (Interlocked.Increment(ref arrived) == 2000)
            {
                all.SetResult();
            }

            await all.Task;
            await Exchange.EchoAsync(stream);
        });
        await Task.WhenAll(
            Enumerable.Range(0, 2000).Select(
                i => engine.Start(() => Exchange.RunAsync(engine, pair.Open(), i, 1 + (i * 11 % 3000), 1000))));
        Assert.Equal(2000, pair.Accepted);
        await pair.FinishAsync();
    });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Fifty_thousand_short_exchanges_reuse_slots_and_objects_without_cross_talk(EngineKind kind) => TestEngine.RunAsync(
        kind,
        async engine =>
        {
            const int Workers = 16;
            const int Each = 50_000 / Workers;
            var pair = UplinkPair.Start(engine, Exchange.ShortEchoAsync);
            var slots = new System.Collections.Concurrent.ConcurrentDictionary<int, int>();
            await Task.WhenAll(Enumerable.Range(0, Workers).Select(worker => engine.Start(async () =>
            {
                for (var i = 0; i < Each; i++)
                {
                    var stream = pair.Open();
                    slots[stream.Id.Slot] = stream.Id.Generation;
                    await Exchange.ShortAsync(stream, (worker * Each) + i);
                }
            })));
            Assert.InRange(slots.Count, 1, Workers * 4);
            Assert.True(slots.Values.Max() > 1000, "The slots were used again and again.");
            await pair.FinishAsync();
        });

    [Theory]
    [InlineData(EngineKind.Inline)]
    [InlineData(EngineKind.Pool)]
    public Task Generations_go_round(EngineKind kind) => TestEngine.RunAsync(kind, async engine =>
    {
        var pair = UplinkPair.Start(engine, Exchange.ShortEchoAsync, new PairOptions { MaxStreams = 1 });
        var lowest = int.MaxValue;
        for (var i = 0; i < 66_000; i++)
        {
            var stream = pair.Open();
            Assert.NotEqual(0, stream.Id.Generation);
            lowest = i > 65_530 ? Math.Min(lowest, stream.Id.Generation) : lowest;
            await Exchange.ShortAsync(stream, i);
            await engine.UntilAsync(() => pair.Entry.OpenStreams == 0, "the only slot is free");
        }

        Assert.Equal(1, lowest);
        await pair.FinishAsync();
    });
}
