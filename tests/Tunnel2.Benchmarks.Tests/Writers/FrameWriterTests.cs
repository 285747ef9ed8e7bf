using System.Buffers.Binary;
using Tunnel2.Benchmarks.Writers;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Benchmarks.Tests.Writers;

public sealed class FrameWriterTests
{
    private const int Producers = 256;
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(30);

    public static TheoryData<WriterKind> Kinds => [.. Enum.GetValues<WriterKind>()];

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task No_frame_is_torn_lost_doubled_or_misordered_under_256_producers(WriterKind kind)
    {
        const int FramesEach = 100;
        var seed = Random.Shared.Next();
        TestContext.Current.TestOutputHelper?.WriteLine($"Seed {seed}");
        var sink = new CollectingSink(seed);
        var writer = Writer.Create(kind, sink);
        await Task.WhenAll(Enumerable.Range(0, Producers).Select(slot => Task.Run(async () =>
        {
            var stream = writer.CreateStream(slot);
            var random = new Random(seed + slot);
            var buffer = new byte[16 * 1024];
            for (var number = 0; number < FramesEach; number++)
            {
                var payload = buffer.AsMemory(0, random.Next(20) == 0 ? random.Next(8, buffer.Length + 1) : random.Next(8, 300));
                Fill(payload.Span, slot, number);
                await writer.WriteAsync(stream, payload);

                // What was lent is ours again: were it read from here on, the check would see this.
                payload.Span.Fill(0xEE);
            }
        }))).WaitAsync(_limit);
        await writer.DisposeAsync().AsTask().WaitAsync(_limit);
        var next = new int[Producers];
        for (var rest = sink.Bytes; !rest.IsEmpty;)
        {
            Assert.Equal(ProtocolError.None, FrameHeader.TryRead(rest, out var header));
            Check(rest.Slice(FrameHeader.Size, header.Length), header.Stream.Slot, next[header.Stream.Slot]++);
            rest = rest[(FrameHeader.Size + header.Length)..];
        }

        Assert.All(next, count => Assert.Equal(FramesEach, count));
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task A_sink_that_fails_fails_every_producer(WriterKind kind)
    {
        var sink = new CollectingSink(1, failAfter: 500_000);
        var writer = Writer.Create(kind, sink);
        await Task.WhenAll(Enumerable.Range(0, Producers).Select(slot => Task.Run(async () =>
        {
            var stream = writer.CreateStream(slot);
            var payload = new byte[1000];
            await Assert.ThrowsAsync<IOException>(async () =>
            {
                while (true)
                {
                    await writer.WriteAsync(stream, payload);
                }
            });
            await Assert.ThrowsAsync<IOException>(async () => await writer.WriteAsync(stream, payload));
        }))).WaitAsync(_limit);
        await writer.DisposeAsync().AsTask().WaitAsync(_limit);
    }

    [Fact]
    public async Task The_measuring_sink_finds_every_frame_however_it_is_cut()
    {
        var sink = new MeasuringSink(new NullSink());
        var all = sink.ExpectAsync(50);
        var bytes = new List<byte>();
        var frame = new byte[1000];
        for (var i = 0; i < 50; i++)
        {
            bytes.AddRange(frame.AsSpan(0, WriterStream.WriteFrame(frame, new StreamId(i, 1), new byte[8 + ((49 - i) * 7)])));
        }

        var random = new Random(3);
        var memory = bytes.ToArray().AsMemory();
        while (!memory.IsEmpty)
        {
            Assert.False(all.IsCompleted);
            var count = Math.Min(memory.Length, random.Next(1, 40));
            await sink.SendAsync(memory[..count]);
            memory = memory[count..];
        }

        Assert.True(all.IsCompleted);
        Assert.Equal(bytes.Count, sink.Bytes);
    }

    private static void Fill(Span<byte> payload, int slot, int number)
    {
        payload.Fill((byte)((slot * 31) + number));
        BinaryPrimitives.WriteInt32LittleEndian(payload, slot);
        BinaryPrimitives.WriteInt32LittleEndian(payload[4..], number);
    }

    private static void Check(ReadOnlySpan<byte> payload, int slot, int number)
    {
        Assert.Equal(
            (slot, number), (BinaryPrimitives.ReadInt32LittleEndian(payload), BinaryPrimitives.ReadInt32LittleEndian(payload[4..])));
        Assert.Equal(-1, payload[8..].IndexOfAnyExcept((byte)((slot * 31) + number)));
    }
}
