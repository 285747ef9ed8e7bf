using System.Buffers;
using System.IO.Pipelines;
using System.Text;
using Tunnel2.Http2.Frames;
using Tunnel2.Http2.Hpack;
using Tunnel2.ProxyEntry.Fronts.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Http2;

/// <summary>Header blocks of several frames on their way to Kestrel: what arrives of them, however they come.</summary>
public sealed class Http2LargeHeadTests
{
    private const int Stream = 5;

    private static readonly HpackShortenerLimits _limits = new(Bytes: 40_000, Fields: 100, StandIn: 5000, Mark: 60_000);

    /// <summary>A PING on both sides of a block: they pass as they are.</summary>
    private static readonly byte[] _ping = Frame(Http2FrameType.Ping, Http2FrameFlags.None, 0, new byte[8]);

    [Theory]
    [InlineData(1)]
    [InlineData(8)]
    [InlineData(4097)]
    [InlineData(int.MaxValue)]
    public async Task A_block_within_the_limits_passes_with_all_around_it(int piece)
    {
        var block = Field("x-a", 30_000);
        var frames = await PassAsync([.. _ping, .. Frames(block, 9000), .. _ping], piece);
        Assert.Equal(
            ["Ping 0", "Headers 5 end", "Continuation 5", "Continuation 5", "Continuation 5 last", "Ping 0"], Words(frames));
        Assert.Equal(block, BlockOf(frames));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(8)]
    [InlineData(4097)]
    [InlineData(int.MaxValue)]
    public async Task Little_is_left_of_a_larger_one_and_all_around_it_passes(int piece)
    {
        byte[] block = [.. Field("x-a", 200_000), .. Field("x-b", 1)];
        byte[] two = [.. _ping, .. Frames(block, 16_384), .. Frames(Field("x-c", 20_000), 16_384), .. _ping];
        var frames = await PassAsync(two, piece);
        Assert.Equal([_ping, _ping], frames.Where(static frame => frame[3] == (byte)Http2FrameType.Ping));
        Assert.All(frames, static frame => Assert.InRange(frame.Length, 9, 9 + 16_384));
        var second = frames.FindLastIndex(static frame => frame[3] == (byte)Http2FrameType.Headers);
        Assert.Equal(["5000 x-a", "1 x-b", "60000 x"], Read(BlockOf(frames.Take(second))));
        Assert.Equal(Field("x-c", 20_000), BlockOf(frames.Skip(second)));
    }

    [Fact]
    public async Task Padding_and_priority_are_not_part_of_the_block()
    {
        var block = Field("x-a", 200);
        byte[] first = [3, 0, 0, 0, 0, 15, .. block[..100], 0, 0, 0];
        var frames = await PassAsync(
            [
                .. Frame(Http2FrameType.Headers, Http2FrameFlags.Padded | Http2FrameFlags.Priority, Stream, first),
                .. Frame(Http2FrameType.Continuation, Http2FrameFlags.EndHeaders, Stream, block[100..]),
            ],
            int.MaxValue);
        Assert.Equal(["Headers 5", "Continuation 5 last"], Words(frames));
        Assert.Equal(block, BlockOf(frames));
    }

    public static TheoryData<string, byte[]> Broken => new()
    {
        { "another frame", _ping },
        { "another stream", Frame(Http2FrameType.Continuation, Http2FrameFlags.EndHeaders, 7, [0x82]) },
        { "another block", Frame(Http2FrameType.Headers, Http2FrameFlags.None, 7, [0x82]) },
        { "a frame that is too large", Frame(Http2FrameType.Continuation, Http2FrameFlags.EndHeaders, Stream, new byte[16_385]) },
    };

    /// <summary>Kestrel ends the connection for it.</summary>
    [Theory]
    [MemberData(nameof(Broken))]
    public async Task What_cannot_be_in_a_block_passes_as_it_is(string what, byte[] bytes)
    {
        byte[] all = [.. Frame(Http2FrameType.Headers, Http2FrameFlags.None, Stream, [0x82]), .. bytes, .. _ping];
        foreach (var piece in (int[])[1, int.MaxValue])
        {
            Assert.True(all.SequenceEqual((await PassAsync(all, piece)).SelectMany(static frame => frame)), what);
        }
    }

    [Fact]
    public async Task A_first_frame_with_broken_padding_passes_as_it_is()
    {
        byte[] all = [.. Frame(Http2FrameType.Headers, Http2FrameFlags.Padded, Stream, [9, 0x82]), .. _ping];
        Assert.Equal(all, (await PassAsync(all, int.MaxValue)).SelectMany(static frame => frame));
    }

    [Fact]
    public async Task A_block_that_the_visitors_end_cuts_off_is_cut_off_and_followed_by_the_end()
    {
        var frames = Frames(Field("x-a", 20_000), 16_384)[..^10];
        Assert.Equal(frames, (await PassAsync(frames, int.MaxValue)).SelectMany(static frame => frame));
    }

    [Fact]
    public async Task A_block_of_more_than_two_mebibytes_ends_the_connection()
    {
        var floods = new List<Http2Flood>();
        var frames = await PassAsync([.. Frames(Field("x-a", 2_200_000), 16_384), .. _ping], 50_000, floods);
        Assert.Equal([Http2Flood.Continuation], floods);
        Assert.DoesNotContain(frames, static frame => frame[3] == (byte)Http2FrameType.Ping);
        Assert.InRange(frames.Sum(static frame => frame.Length), 1, 20_000);
    }

    [Fact]
    public async Task Frames_of_a_block_that_carry_nothing_end_the_connection()
    {
        var floods = new List<Http2Flood>();
        var empty = Frame(Http2FrameType.Continuation, Http2FrameFlags.None, Stream, []);
        var first = Frame(Http2FrameType.Headers, Http2FrameFlags.None, Stream, [0x82]);
        var many = Enumerable.Repeat(empty, Http2FloodGuard.Capacity + 1);
        await PassAsync([.. first, .. many.SelectMany(static frame => frame)], 50_000, floods);
        Assert.Equal([Http2Flood.Continuation], floods);
    }

    [Fact]
    public async Task Visitors_learn_how_large_a_head_may_be_that_is_read()
    {
        var wire = new Wire();
        var link = new Http2Link(wire, new ManualTimeProvider(), _limits);
        for (var i = 0; i < 2; i++)
        {
            await link.Output.WriteAsync(Frame(Http2FrameType.Settings, Http2FrameFlags.None, 0, [0, 3, 0, 0, 0, 100]));
        }

        await link.Output.CompleteAsync();
        var read = await wire.Sent.Reader.ReadAtLeastAsync(int.MaxValue);
        Assert.Equal(
            "000006040000000000000300000064" + "000006040000000000000600200000" + "000006040000000000000300000064",
            Convert.ToHexString(read.Buffer.ToArray()));
    }

    /// <summary>Passes bytes as a visitor sends them, in pieces, and reads them as Kestrel does.</summary>
    private static async Task<List<byte[]>> PassAsync(byte[] bytes, int piece, List<Http2Flood>? floods = null)
    {
        var wire = new Wire();
        var link = new Http2Link(wire, new ManualTimeProvider(), _limits, (floods ?? []).Add);
        var passed = new List<byte>();
        var reading = ReadAsync(link.Input, passed);
        byte[] all = [.. Http2Frames.Preface, .. bytes];
        for (var at = 0; at < all.Length; at += Math.Min(piece, all.Length - at))
        {
            await wire.Received.Writer.WriteAsync(all.AsMemory(at, Math.Min(piece, all.Length - at)));
        }

        await wire.Received.Writer.CompleteAsync();
        await reading;
        var frames = new List<byte[]>();
        ReadOnlySpan<byte> rest = passed.ToArray().AsSpan(Http2Frames.Preface.Length);
        while (!rest.IsEmpty)
        {
            var length = Math.Min(rest.Length, Http2FrameHeader.Size + Http2FrameHeader.Read(rest).Length);
            frames.Add(rest[..length].ToArray());
            rest = rest[length..];
        }

        return frames;
    }

    /// <summary>Kestrel copies what has come, at most a page at a time.</summary>
    private static async Task ReadAsync(PipeReader reader, List<byte> passed)
    {
        while (true)
        {
            var read = await reader.ReadAsync();
            if (read.IsCompleted && read.Buffer.IsEmpty)
            {
                return;
            }

            var page = read.Buffer.Slice(0, Math.Min(read.Buffer.Length, 4096));
            passed.AddRange(page.ToArray());
            reader.AdvanceTo(page.End);
        }
    }

    private static IEnumerable<string> Words(IEnumerable<byte[]> frames) =>
        frames.Select(static bytes => Http2FrameHeader.Read(bytes)).Select(static header =>
            $"{header.Type} {header.StreamId}{(header.Has(Http2FrameFlags.EndStream) ? " end" : "")}"
            + (header.Has(Http2FrameFlags.EndHeaders) ? " last" : ""));

    private static byte[] BlockOf(IEnumerable<byte[]> frames) =>
        [.. frames.Where(static frame => frame[3] is 1 or 9).SelectMany(static frame => frame[Http2FrameHeader.Size..])];

    private static List<string> Read(ReadOnlySpan<byte> block)
    {
        var decoder = new HpackDecoder();
        decoder.Begin(block.Length);
        var fields = new List<string>();
        while (decoder.TryRead(ref block, out var name, out var value) == HpackStatus.Field)
        {
            fields.Add($"{value.Length} {Encoding.ASCII.GetString(name)}");
        }

        return fields;
    }

    private static byte[] Frames(byte[] block, int length)
    {
        var parts = block.Chunk(length).ToList();
        return
        [
            .. parts.SelectMany((part, i) => Frame(
                i == 0 ? Http2FrameType.Headers : Http2FrameType.Continuation,
                (i == 0 ? Http2FrameFlags.EndStream : 0) | (i == parts.Count - 1 ? Http2FrameFlags.EndHeaders : 0),
                Stream,
                part)),
        ];
    }

    private static byte[] Field(string name, int length)
    {
        var block = new byte[name.Length + length + 20];
        var writer = new HpackWriter(block);
        writer.WriteField(Encoding.ASCII.GetBytes(name), Enumerable.Repeat((byte)'v', length).ToArray());
        return block[..writer.Written];
    }

    private static byte[] Frame(Http2FrameType type, Http2FrameFlags flags, int id, byte[] payload)
    {
        var header = new byte[Http2FrameHeader.Size];
        new Http2FrameHeader(payload.Length, type, flags, id).Write(header);
        return [.. header, .. payload];
    }

    /// <summary>A visitor's connection in memory.</summary>
    private sealed class Wire : IDuplexPipe
    {
        public Pipe Received { get; } = new(new PipeOptions(pauseWriterThreshold: 0, useSynchronizationContext: false));

        public Pipe Sent { get; } = new();

        public PipeReader Input => Received.Reader;

        public PipeWriter Output => Sent.Writer;
    }
}
