using System.Buffers;
using System.IO.Pipelines;
using Tunnel2.Http2.Frames;
using Tunnel2.Http2.Hpack;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Fronts.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Http2;

/// <summary>Our frames between Kestrel's, at any moment of Kestrel's work; and what a visitor's frames cost.</summary>
public sealed class Http2LinkTests
{
    private const int Stream = 1;

    [Fact]
    public async Task Frames_of_ours_go_out_at_once_where_nothing_is_under_way()
    {
        var wire = new Wire();
        Assert.True(wire.SendInterim());
        Assert.Equal(["Headers 1 103"], wire.Sent());
    }

    [Fact]
    public async Task They_never_stand_inside_of_a_frame_of_kestrels()
    {
        var frame = Frame(Http2FrameType.Data, Http2FrameFlags.None, 3, new byte[20]);
        for (var split = 1; split < frame.Length; split++)
        {
            var wire = new Wire();
            wire.Write(frame.AsSpan(0, split));
            Assert.True(wire.SendInterim());
            wire.Write(frame.AsSpan(split));
            await wire.Link.Output.FlushAsync();
            Assert.Equal(["Data 3", "Headers 1 103"], wire.Sent());
        }
    }

    [Fact]
    public async Task They_never_stand_inside_of_a_block_of_kestrels()
    {
        var wire = new Wire();
        wire.Write(Frame(Http2FrameType.Headers, Http2FrameFlags.None, 3, [0x88]));
        Assert.True(wire.SendInterim());
        wire.Write(Frame(Http2FrameType.Continuation, Http2FrameFlags.EndHeaders, 3, [0x88]));
        await wire.Link.Output.FlushAsync();
        Assert.Equal(["Headers 3", "Continuation 3", "Headers 1 103"], wire.Sent());
    }

    [Fact]
    public async Task They_do_not_take_memory_that_kestrel_has_asked_for()
    {
        var wire = new Wire();
        var frame = Frame(Http2FrameType.Data, Http2FrameFlags.None, 3, [1]);
        var memory = wire.Link.Output.GetMemory(frame.Length);
        Assert.True(wire.SendInterim());
        frame.CopyTo(memory);
        wire.Link.Output.Advance(frame.Length);
        await wire.Link.Output.FlushAsync();
        Assert.Equal(["Data 3", "Headers 1 103"], wire.Sent());
    }

    [Fact]
    public async Task They_wait_for_a_flush_of_kestrels()
    {
        var wire = new Wire();
        wire.Hold();
        wire.Write(Frame(Http2FrameType.Data, Http2FrameFlags.None, 3, [1]));
        var flushing = wire.Link.Output.FlushAsync();
        Assert.False(flushing.IsCompleted);
        Assert.True(wire.SendInterim());
        wire.Resume();
        await flushing;
        Assert.Equal(["Data 3", "Headers 1 103"], wire.Sent());
    }

    [Fact]
    public async Task Kestrels_bytes_wait_for_a_flush_of_ours()
    {
        var wire = new Wire();
        wire.Hold();
        Assert.True(wire.SendInterim());
        wire.Write(Frame(Http2FrameType.Data, Http2FrameFlags.None, 3, [1]));
        var flushing = wire.Link.Output.FlushAsync();
        Assert.False(flushing.IsCompleted);
        Assert.True(wire.SendInterim());
        wire.Resume();
        await flushing;
        Assert.Equal(["Headers 1 103", "Data 3", "Headers 1 103"], wire.Sent());
    }

    [Fact]
    public async Task What_waits_is_bounded()
    {
        var wire = new Wire();
        wire.Hold();
        Assert.True(wire.SendInterim());
        var taken = 0;
        while (wire.SendInterim(valueLength: 10_000))
        {
            Assert.InRange(++taken, 1, 20);
        }

        wire.Resume();
        Assert.Equal(taken + 1, wire.Sent().Count);
    }

    [Fact]
    public async Task A_stream_that_was_reset_by_either_side_gets_none()
    {
        var wire = new Wire();
        await wire.ReceiveAsync(Frame(Http2FrameType.RstStream, Http2FrameFlags.None, Stream, [0, 0, 0, 7]));
        Assert.False(wire.SendInterim());
        Assert.Equal(7, wire.Link.CodeOf(Stream));
        Assert.Null(wire.Link.CodeOf(3));
        wire.Write(Frame(Http2FrameType.RstStream, Http2FrameFlags.None, 3, [0, 0, 0, 1]));
        Assert.False(wire.SendInterim(stream: 3));
        Assert.True(wire.SendInterim(stream: 5));
    }

    /// <summary>RFC 7541 section 4.2: the first block after a change begins with it.</summary>
    [Fact]
    public async Task A_smaller_table_is_acknowledged_by_the_first_block()
    {
        var wire = new Wire();
        await wire.ReceiveAsync(Frame(Http2FrameType.Settings, Http2FrameFlags.None, 0, [0, 1, 0, 0, 0, 0]));
        Assert.True(wire.SendInterim());
        wire.Write(Frame(Http2FrameType.Settings, Http2FrameFlags.Ack, 0, []));
        await wire.Link.Output.FlushAsync();
        Assert.True(wire.SendInterim());
        wire.Write(Frame(Http2FrameType.Headers, Http2FrameFlags.EndHeaders, 3, [0x20, 0x88]));
        await wire.Link.Output.FlushAsync();
        Assert.True(wire.SendInterim());
        Assert.Equal(
            ["Headers 1 103", "Settings 0", "Headers 1 20 103", "Headers 3", "Headers 1 103"], wire.Sent());
    }

    [Fact]
    public async Task A_flood_ends_the_connection_with_its_code_and_the_last_stream()
    {
        var wire = new Wire();
        await wire.ReceiveAsync(Frame(Http2FrameType.Headers, Http2FrameFlags.EndHeaders, 9, [0x82]));
        var ping = Frame(Http2FrameType.Ping, Http2FrameFlags.None, 0, new byte[8]);
        for (var i = 0; i < Http2FloodGuard.Capacity; i++)
        {
            await wire.ReceiveAsync(ping);
        }

        Assert.False(wire.Link.IsRefused);
        await wire.SendAsync(ping);
        var read = await wire.Link.Input.ReadAsync();
        Assert.True(read.IsCompleted && read.Buffer.IsEmpty);
        wire.Link.Input.AdvanceTo(read.Buffer.End);
        wire.Write(Frame(Http2FrameType.Data, Http2FrameFlags.None, 3, [1]));
        await wire.Link.Output.FlushAsync();
        Assert.Equal(["GoAway 0 000000090000000B"], wire.Sent());
        Assert.Equal([Http2Flood.Ping], wire.Floods);
    }

    [Fact]
    public async Task Resets_that_kestrel_is_made_to_send_count_and_those_of_ours_do_not()
    {
        var wire = new Wire();
        var reset = Frame(Http2FrameType.RstStream, Http2FrameFlags.None, 3, [0, 0, 0, 3]);
        for (var i = 0; i < Http2FloodGuard.Capacity; i++)
        {
            wire.Link.ExpectReset();
            wire.Write(reset);
        }

        for (var i = 0; i < Http2FloodGuard.Capacity / Http2FloodGuard.PerReset; i++)
        {
            wire.Write(reset);
        }

        Assert.False(wire.Link.IsRefused);
        var reading = wire.Link.Input.ReadAsync();
        wire.Write(reset);
        await wire.Link.Output.FlushAsync();
        Assert.True(wire.Link.IsRefused);
        Assert.True((await reading).IsCompleted);
        Assert.Equal("GoAway 0 000000000000000B", wire.Sent()[^1]);
        Assert.Equal([Http2Flood.ForcedReset], wire.Floods);
    }

    [Fact]
    public async Task Answers_pay_for_the_frames_that_they_cause()
    {
        var wire = new Wire();
        for (var i = 0; i < 2 * Http2FloodGuard.Capacity; i++)
        {
            wire.Write(Frame(Http2FrameType.Data, Http2FrameFlags.None, 3, [1]));
            await wire.ReceiveAsync(Frame(Http2FrameType.WindowUpdate, Http2FrameFlags.None, 3, [0, 0, 0, 1]));
            await wire.ReceiveAsync(Frame(Http2FrameType.WindowUpdate, Http2FrameFlags.None, 0, [0, 0, 0, 1]));
        }

        Assert.False(wire.Link.IsRefused);
    }

    [Fact]
    public async Task One_frame_of_ours_may_be_granted_again_in_many_pieces_and_then_no_more()
    {
        var wire = new Wire();
        var grant = Frame(Http2FrameType.WindowUpdate, Http2FrameFlags.None, 3, [0, 0, 0, 5]);
        wire.Write(Frame(Http2FrameType.Data, Http2FrameFlags.None, 3, new byte[16 * 1024]));
        await wire.Link.Output.FlushAsync();
        for (var i = 0; i < 6500; i++)
        {
            await wire.ReceiveAsync(grant);
        }

        Assert.False(wire.Link.IsRefused);
        for (var i = 0; i < 60 + Http2FloodGuard.Capacity; i++)
        {
            await wire.SendAsync(grant);
        }

        while (!wire.Link.IsRefused)
        {
            var read = await wire.Link.Input.ReadAsync();
            wire.Link.Input.AdvanceTo(read.Buffer.End);
        }

        Assert.Equal([Http2Flood.WindowUpdate], wire.Floods);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(100_000)]
    public async Task Heads_pass_in_turns_and_the_requests_before_them_go_first(int piece)
    {
        var wire = new Wire();
        var heads = Enumerable.Range(0, 100).Select(static i =>
            Frame(Http2FrameType.Headers, Http2FrameFlags.EndHeaders | Http2FrameFlags.EndStream, 1 + (2 * i), [0x82, 0x84, 0x87]));
        byte[] bytes = [.. heads.SelectMany(static head => head), .. Frame(Http2FrameType.Data, Http2FrameFlags.None, 1, [1, 2, 3])];
        foreach (var part in bytes.Chunk(piece))
        {
            await wire.SendAsync(part);
        }

        var length = Http2Frames.Preface.Length + bytes.Length;
        var begun = 0;
        var looked = 0;
        while (length > 0)
        {
            // Kestrel queues each request whose head it has decoded.
            var read = await wire.Link.Input.ReadAsync();
            Assert.InRange(begun - Volatile.Read(ref looked), 0, ThreadPool.ThreadCount);
            var shown = (read.Buffer.Length - (begun == 0 ? Http2Frames.Preface.Length : 0)) / (Http2FrameHeader.Size + 3);
            Assert.InRange(shown, 1, 16);
            for (var i = 0; i < shown; i++, begun++)
            {
                ThreadPool.UnsafeQueueUserWorkItem(_ => Interlocked.Increment(ref looked), null);
            }

            length -= (int)read.Buffer.Length;
            wire.Link.Input.AdvanceTo(read.Buffer.End);
        }

        Assert.Equal(101, begun);
    }

    /// <summary>Kestrel takes what the visitor's window does not allow yet, and drops it when the stream is reset.</summary>
    [Fact]
    public async Task What_was_sent_of_an_answer_is_known_until_it_ends_and_after_it_was_cut()
    {
        var wire = new Wire();
        Assert.Null(wire.Link.BodySentOf(1));
        foreach (var id in (int[])[1, 3, 5, 7])
        {
            wire.Write(Frame(Http2FrameType.Headers, Http2FrameFlags.EndHeaders, id, [0x88]));
            Assert.Equal(0, wire.Link.BodySentOf(id));
        }

        wire.Write(Frame(Http2FrameType.Data, Http2FrameFlags.None, 1, new byte[20]));
        wire.Write(Frame(Http2FrameType.Data, Http2FrameFlags.None, 3, new byte[30]));
        wire.Write(Frame(Http2FrameType.Data, Http2FrameFlags.None, 1, new byte[5]));
        wire.Write(Frame(Http2FrameType.Data, Http2FrameFlags.EndStream, 7, new byte[5]));
        await wire.ReceiveAsync(Frame(Http2FrameType.RstStream, Http2FrameFlags.None, 1, [0, 0, 0, 8]));
        wire.Write(Frame(Http2FrameType.RstStream, Http2FrameFlags.None, 3, [0, 0, 0, 2]));

        // A frame that was under way when the reset came is none of a new answer.
        wire.Write(Frame(Http2FrameType.Data, Http2FrameFlags.None, 1, new byte[9]));
        wire.Write(Frame(Http2FrameType.Headers, Http2FrameFlags.EndHeaders, 1, [0x88]));

        Assert.Equal(25, wire.Link.BodySentOf(1));
        Assert.Equal(30, wire.Link.BodySentOf(3));
        Assert.Equal(0, wire.Link.BodySentOf(5));
        Assert.Null(wire.Link.BodySentOf(7));
    }

    private static byte[] Frame(Http2FrameType type, Http2FrameFlags flags, int id, byte[] payload)
    {
        var header = new byte[Http2FrameHeader.Size];
        new Http2FrameHeader(payload.Length, type, flags, id).Write(header);
        return [.. header, .. payload];
    }

    /// <summary>A connection in memory, with a transport that can be made to wait.</summary>
    private sealed class Wire : IDuplexPipe
    {
        private readonly Pipe _in = new();
        private readonly SlowWriter _out = new();

        public Wire()
        {
            Link = new Http2Link(this, new ManualTimeProvider(), new HpackShortenerLimits(50_000, 20, 5000, 60_000), Floods.Add);
            var preface = Http2Frames.Preface.ToArray();
            _in.Writer.Write(preface);
        }

        public Http2Link Link { get; }

        /// <summary>What was reported.</summary>
        public List<Http2Flood> Floods { get; } = [];

        public PipeReader Input => _in.Reader;

        public PipeWriter Output => _out;

        public void Hold() => _out.Hold();

        public void Resume() => _out.Resume();

        public void Write(ReadOnlySpan<byte> bytes) => Link.Output.Write(bytes);

        public async Task SendAsync(byte[] bytes) => await _in.Writer.WriteAsync(bytes);

        /// <summary>The visitor sends, and Kestrel reads.</summary>
        public async Task ReceiveAsync(byte[] bytes)
        {
            await SendAsync(bytes);
            var read = await Link.Input.ReadAsync();
            Link.Input.AdvanceTo(read.Buffer.End);
        }

        public bool SendInterim(int stream = Stream, int valueLength = 1)
        {
            var buffer = new byte[valueLength + 100];
            var writer = new HeaderBlockWriter(buffer);
            writer.BeginResponse(HeaderBlockFlags.None, 103, default);
            writer.AddField("X-A", new string('v', valueLength));
            Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(buffer.AsSpan(0, writer.Complete()), out var head));
            return Link.TrySendInterim(stream, head);
        }

        /// <summary>The frames that have left, in words.</summary>
        public List<string> Sent()
        {
            var frames = new List<string>();
            ReadOnlySpan<byte> bytes = _out.Flushed;
            while (!bytes.IsEmpty)
            {
                var header = Http2FrameHeader.Read(bytes);
                var payload = bytes.Slice(Http2FrameHeader.Size, header.Length);
                var about = header.Type == Http2FrameType.GoAway ? $" {Convert.ToHexString(payload)}"
                    : payload.IndexOf("103"u8) >= 0 ? $"{(payload[0] == 0x20 ? " 20" : "")} 103"
                    : "";
                frames.Add($"{header.Type} {header.StreamId}{about}");
                bytes = bytes[(Http2FrameHeader.Size + header.Length)..];
            }

            return frames;
        }
    }

    /// <summary>Refuses a second flush, and memory, while one runs: what the transports of TLS cannot do.</summary>
    private sealed class SlowWriter : PipeWriter
    {
        private readonly ArrayBufferWriter<byte> _written = new();
        private TaskCompletionSource<FlushResult>? _held;
        private bool _isFlushing;
        private int _flushed;

        public ReadOnlySpan<byte> Flushed => _written.WrittenSpan[.._flushed];

        public void Hold() => _held = new TaskCompletionSource<FlushResult>();

        public void Resume()
        {
            var held = _held!;
            _held = null;
            _isFlushing = false;
            held.SetResult(default);
        }

        public override Memory<byte> GetMemory(int sizeHint = 0)
        {
            Assert.False(_isFlushing);
            return _written.GetMemory(sizeHint);
        }

        public override Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;

        public override void Advance(int bytes)
        {
            Assert.False(_isFlushing);
            _written.Advance(bytes);
        }

        public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
        {
            Assert.False(_isFlushing);
            _flushed = _written.WrittenCount;
            _isFlushing = _held is not null;
            return _held is null ? default : new ValueTask<FlushResult>(_held.Task);
        }

        public override void CancelPendingFlush()
        {
        }

        public override void Complete(Exception? exception = null)
        {
        }
    }
}
