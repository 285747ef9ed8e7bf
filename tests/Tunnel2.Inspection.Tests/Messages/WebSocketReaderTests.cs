using System.IO.Compression;
using System.Text;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Messages;

namespace Tunnel2.Inspection.Tests.Messages;

public sealed class WebSocketReaderTests
{
    private const string Switch = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(1000)]
    public void Messages_are_found_in_any_split(int piece)
    {
        var capture = Upgraded();
        byte[] stream =
        [
            .. Frame(1, "hello", masked: true),
            .. Frame(2, "\u0001\u0002", masked: true),
            .. Frame(9, "ping", masked: true),
            .. Frame(1, new string('x', 300), masked: true),
            .. Frame(8, "\u0003\u00e8bye", masked: true),
        ];
        foreach (var part in stream.Chunk(piece))
        {
            capture.OnRequestBody(part);
        }

        Assert.Equal(
            ["Text hello", "Binary \u0001\u0002", "Ping ping", $"Text {new string('x', 300)}", "Close \u0003\u00e8bye"], Texts(capture));
        Assert.All(capture.Messages.Kept, message => Assert.True(message.FromVisitor));
    }

    [Fact]
    public void Fragments_become_one_message_with_control_frames_between_them()
    {
        var capture = Upgraded();
        capture.OnResponseBody([
            .. Frame(1, "one ", final: false), .. Frame(0, "two ", final: false), .. Frame(10, "pong"), .. Frame(0, "three"),
            .. Frame(1, "next"),
        ]);
        Assert.Equal(["Pong pong", "Text one two three", "Text next"], Texts(capture));
        Assert.All(capture.Messages.Kept, message => Assert.False(message.FromVisitor));
    }

    [Fact]
    public void A_long_message_keeps_its_beginning_and_its_true_length()
    {
        var capture = Upgraded(new InspectionLimits { MessageBytes = 1000 });
        capture.OnResponseBody(Frame(2, new string('a', 70_000)));
        var message = Assert.Single(capture.Messages.Kept);
        Assert.Equal((70_000, 1000), (message.Length, message.Kept.Length));
    }

    [Fact]
    public void The_last_messages_are_kept_and_all_are_counted()
    {
        var capture = Upgraded(new InspectionLimits { Messages = 5 });
        for (var i = 0; i < 100; i++)
        {
            capture.OnResponseBody(Frame(1, $"m{i}"));
        }

        Assert.Equal(["Text m95", "Text m96", "Text m97", "Text m98", "Text m99"], Texts(capture));
        Assert.Equal(100, capture.Messages.Count);
    }

    [Theory]
    [InlineData(new byte[] { 0x83, 0x00 })]
    [InlineData(new byte[] { 0x8B, 0x00 })]
    [InlineData(new byte[] { 0x09, 0x00 })]
    [InlineData(new byte[] { 0x89, 0x7E, 0x00, 0x80 })]
    [InlineData(new byte[] { 0x80, 0x00 })]
    [InlineData(new byte[] { 0x82, 0x7F, 0xFF, 0, 0, 0, 0, 0, 0, 0 })]
    [InlineData(new byte[] { 0x01, 0x00, 0x01, 0x00 })]
    public void What_is_no_frame_ends_the_reading_and_nothing_else(byte[] bytes)
    {
        var capture = Upgraded();
        capture.OnResponseBody(bytes);
        capture.OnResponseBody(Frame(1, "later"));
        Assert.Equal(MessageKind.Broken, capture.Messages.Kept[^1].Kind);
        Assert.Equal(bytes.Length + Frame(1, "later").Length, capture.ResponseBody.Total);
        capture.OnRequestBody(Frame(1, "other way", masked: true));
        Assert.Equal("Text other way", Texts(capture).Last());
    }

    [Fact]
    public void An_announced_length_of_gigabytes_reserves_nothing()
    {
        var store = Sample.Store();
        var capture = Upgraded(store: store);
        var before = store.Bytes;
        capture.OnResponseBody([0x82, 0x7F, 0x00, 0x00, 0x00, 0x7F, 0, 0, 0, 0, 1, 2, 3]);
        Assert.InRange(store.Bytes - before, 0, 2000);
        capture.OnEnded(null, null);
        store.Clear();
        Assert.Equal(0, store.Bytes);
    }

    [Theory]
    [InlineData(1, true)]
    [InlineData(7, false)]
    [InlineData(100_000, true)]
    public void Compressed_messages_that_share_a_window_are_read(int piece, bool masked)
    {
        var capture = Upgraded(extensions: "permessage-deflate");
        string[] texts = ["{\"hello\":\"world\"}", "{\"hello\":\"world\"}", new string('y', 40_000), "", "{\"hello\":\"again\"}"];
        var frames = Compressed(texts).SelectMany(bytes => Frame(0x41, bytes, masked)).ToArray();
        foreach (var part in frames.Chunk(piece))
        {
            if (masked)
            {
                capture.OnRequestBody(part);
            }
            else
            {
                capture.OnResponseBody(part);
            }
        }

        Assert.Equal(texts.Select(static text => $"Text {text[..Math.Min(text.Length, 16 * 1024)]}"), Texts(capture));
        Assert.Equal(texts.Select(static text => (long?)text.Length), capture.Messages.Kept.Select(static message => message.Content));
        Assert.All(capture.Messages.Kept, message => Assert.Equal((false, masked), (message.IsCompressed, message.FromVisitor)));
        Assert.InRange(capture.Messages.Kept[2].Length, 1, 1000);
    }

    [Fact]
    public void Fragments_of_a_compressed_message_are_one_and_plain_ones_pass_between_compressed_ones()
    {
        var capture = Upgraded(extensions: "permessage-deflate; client_max_window_bits=15");
        var packed = Compressed(["one two three", "one two three four"]).Select(Encoding.Latin1.GetString).ToArray();
        capture.OnResponseBody([
            .. Frame(0x41, packed[0][..3], final: false), .. Frame(9, "ping"), .. Frame(0, packed[0][3..]), .. Frame(1, "plain"),
            .. Frame(0x41, packed[1]),
        ]);
        Assert.Equal(["Ping ping", "Text one two three", "Text plain", "Text one two three four"], Texts(capture));
    }

    [Fact]
    public void A_side_without_a_shared_window_is_decompressed_by_each_viewer()
    {
        var store = Sample.Store();
        var capture = Upgraded(store: store, extensions: "permessage-deflate; server_no_context_takeover");
        var before = store.Bytes;
        capture.OnResponseBody(Frame(0x41, Encoding.Latin1.GetString(Compressed(["hello"])[0])));
        Assert.True(Assert.Single(capture.Messages.Kept).IsCompressed);
        Assert.InRange(store.Bytes - before, 1, 1000);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void A_message_that_unpacks_without_end_or_is_malformed_ends_the_decompression_and_its_memory(bool isBomb)
    {
        var store = Sample.Store();
        var capture = Upgraded(store: store, extensions: "permessage-deflate");
        var packed = Compressed(["first", isBomb ? new string('\0', 64 * 1024 * 1024) : "x", "later"]);
        capture.OnResponseBody(Frame(0x41, Encoding.Latin1.GetString(packed[0])));
        Assert.InRange(store.Bytes, MessageInflater.Cost, MessageInflater.Cost + 10_000);
        capture.OnResponseBody(Frame(0x41, isBomb ? Encoding.Latin1.GetString(packed[1]) : "\u00ff\u00ff\u00ff\u00ff"));
        capture.OnResponseBody(Frame(0x41, Encoding.Latin1.GetString(packed[2])));
        capture.OnResponseBody(Frame(1, "plain"));
        Assert.Equal([false, true, true, false], capture.Messages.Kept.Select(static message => message.IsCompressed));
        Assert.Equal("Text plain", Texts(capture).Last());
        capture.OnEnded(null, null);
        store.Clear();
        Assert.Equal(0, store.Bytes);
    }

    [Fact]
    public void An_exchange_that_is_dropped_lets_its_window_go()
    {
        var store = Sample.Store();
        var capture = Upgraded(store: store, extensions: "permessage-deflate");
        var packed = Compressed(["first", "second"]);
        capture.OnResponseBody(Frame(0x41, Encoding.Latin1.GetString(packed[0])));
        store.Clear();
        Assert.Equal(0, store.Bytes);
        capture.OnResponseBody(Frame(0x41, Encoding.Latin1.GetString(packed[1])));
        capture.OnEnded(null, null);
        Assert.Equal(0, store.Bytes);
    }

    [Fact]
    public void Random_bytes_are_counted_and_break_nothing()
    {
        var random = new Random(7);
        for (var run = 0; run < 200; run++)
        {
            var store = Sample.Store(new InspectionLimits { Bytes = 200_000 });
            var capture = Upgraded(store: store);
            var bytes = new byte[random.Next(3000)];
            random.NextBytes(bytes);
            capture.OnResponseBody(bytes);
            capture.OnRequestBody(bytes);
            capture.OnEnded(null, null);
            Assert.Equal(bytes.Length, capture.ResponseBody.Total);
            Assert.InRange(store.Bytes, 0, 200_000);
        }
    }

    private static ExchangeCapture Upgraded(InspectionLimits? limits = null, ExchangeStore? store = null, string extensions = "")
    {
        var capture = (store ?? Sample.Store(limits)).Begin(Sample.Block("GET", "/ws", ("Upgrade", "websocket")))!;
        var head = extensions.Length == 0 ? Switch : Switch[..^2] + $"Sec-WebSocket-Extensions: {extensions}\r\n\r\n";
        capture.OnResponseHead(Encoding.ASCII.GetBytes(head), 101);
        capture.OnUpgraded();
        return capture;
    }

    private static IEnumerable<string> Texts(ExchangeCapture capture) =>
        capture.Messages.Kept.Select(message => $"{message.Kind} {Encoding.Latin1.GetString(message.Kept)}");

    /// <summary>Messages as permessage-deflate writes them, with one window.</summary>
    private static byte[][] Compressed(string[] texts)
    {
        using var output = new MemoryStream();
        using var coder = new DeflateStream(output, CompressionLevel.Optimal);
        return
        [
            .. texts.Select(text =>
            {
                output.SetLength(0);
                coder.Write(Encoding.Latin1.GetBytes(text));
                coder.Flush();

                // Of an empty message the coder writes nothing, and the protocol one byte.
                return output.Length == 0 ? [0] : output.ToArray()[..^4];
            }),
        ];
    }

    private static byte[] Frame(int opcode, byte[] payload, bool masked) => Frame(opcode, Encoding.Latin1.GetString(payload), masked);

    private static byte[] Frame(int opcode, string text, bool masked = false, bool final = true)
    {
        var payload = Encoding.Latin1.GetBytes(text);
        var first = (byte)(opcode | (final ? 0x80 : 0));
        var mask = (byte)(masked ? 0x80 : 0);
        byte[] head = payload.Length < 126 ? [first, (byte)(mask | payload.Length)]
            : payload.Length < 65_536 ? [first, (byte)(mask | 126), (byte)(payload.Length >> 8), (byte)payload.Length]
            :
            [
                first, (byte)(mask | 127), 0, 0, 0, 0, (byte)(payload.Length >> 24), (byte)(payload.Length >> 16),
                (byte)(payload.Length >> 8), (byte)payload.Length,
            ];
        byte[] key = masked ? [1, 2, 3, 4] : [];
        return [.. head, .. key, .. payload.Select((one, i) => masked ? (byte)(one ^ key[i & 3]) : one)];
    }
}
