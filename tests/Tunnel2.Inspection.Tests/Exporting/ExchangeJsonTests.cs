using System.IO.Compression;
using System.Text;
using Tunnel2.Inspection.Exporting;
using Tunnel2.Inspection.Masking;
using Tunnel2.Inspection.Messages;

namespace Tunnel2.Inspection.Tests.Exporting;

public sealed class ExchangeJsonTests
{
    /// <summary>STOMP and others have lines and a zero in binary messages; a reason may be an address.</summary>
    [Theory]
    [InlineData(2, "{\"token\":\"abc\"}", "{\"token\":\"***\"}")]
    [InlineData(2, "user=me&password=abc", "user=me&password=***")]
    [InlineData(2, "CONNECT\nlogin:me\npasscode:abc\n\n\0", "CONNECT\nlogin:me\npasscode: ***\n\n\0")]
    [InlineData(1, "CONNECT\nlogin:me\npasscode:abc\n\n\0", "CONNECT\nlogin:me\npasscode: ***\n\n\0")]
    [InlineData(9, "token=abc", "token=***")]
    [InlineData(10, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbg", "***")]
    [InlineData(8, "\u0003\u00e8see https://h/?token=abc", "1000 see https://h/?token=***")]
    public void Messages_of_each_kind_are_masked(int opcode, string payload, string shown)
    {
        Assert.Equal((shown, true), Shown(opcode, Sample.Bytes(payload), MaskingRules.BuiltIn));
        Assert.False(Shown(opcode, Sample.Bytes(payload), null).IsMasked);
    }

    /// <summary>What is kept of a long message may end within a character.</summary>
    [Fact]
    public void A_binary_message_that_is_cut_within_a_character_is_masked()
    {
        byte[] payload = [.. "{\"token\":\"abc\",\"name\":\"caf"u8, 0xC3];
        Assert.Equal(("{\"token\":\"***\",\"name\":\"caf\u00c3", true), Shown(2, payload, MaskingRules.BuiltIn));
    }

    [Fact]
    public void A_binary_message_that_is_no_text_is_shown() =>
        Assert.Equal(("\u00ff\u0001token=abc", false), Shown(2, Sample.Bytes("\u00ff\u0001token=abc"), MaskingRules.BuiltIn));

    /// <summary>Of an event, each line of data is a line of its text, an empty one too: models send a line end as two of them.</summary>
    [Theory]
    [InlineData("data: one\ndata: two\n\n", "one\ntwo")]
    [InlineData("data: \ndata: \n\n", "\n")]
    [InlineData("data\ndata: two\n\n", "\ntwo")]
    [InlineData("data: one\r\ndata:\r\n\r\n", "one\n")]
    [InlineData("event: tick\n\n", "")]
    public void An_event_has_the_lines_of_its_data(string sent, string shown)
    {
        var capture = Sample.Asked(Sample.Store());
        capture.OnResponseHead("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"u8, 200);
        capture.OnResponseBody(Sample.Bytes(sent));
        Assert.Equal(shown, MessageView.Of(Assert.Single(capture.Messages.Kept), MaskingRules.BuiltIn).Text);
    }

    /// <summary>An empty message of permessage-deflate is a zero; 70,000 characters are more than are decompressed for a viewer.</summary>
    [Theory]
    [InlineData(0, 0, false)]
    [InlineData(70_000, 65_536, true)]
    [InlineData(65_536, 65_536, false)]
    public void A_message_that_is_compressed_by_itself_is_whole_or_cut(int length, int shown, bool isCut)
    {
        var capture = Sample.Asked(Sample.Store());
        const string Extension = "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover";
        capture.OnResponseHead(Sample.Bytes($"HTTP/1.1 101 S\r\nUpgrade: websocket\r\n{Extension}\r\n\r\n"), 101);
        capture.OnUpgraded();
        var packed = Packed(new string('x', length));
        capture.OnResponseBody([0xC1, 126, (byte)(packed.Length >> 8), (byte)packed.Length, .. packed]);
        var read = MessageView.Of(Assert.Single(capture.Messages.Kept), MaskingRules.BuiltIn);
        Assert.Equal((shown, "decompressed", isCut), (read.Text?.Length, read.Note, read.IsCut));
    }

    /// <summary>A message as permessage-deflate writes it: without the end that all have.</summary>
    private static byte[] Packed(string text)
    {
        using var output = new MemoryStream();
        using var coder = new DeflateStream(output, CompressionLevel.Optimal);
        coder.Write(Encoding.ASCII.GetBytes(text));
        coder.Flush();
        return text.Length == 0 ? [0] : output.ToArray()[..^4];
    }

    private static (string Shown, bool IsMasked) Shown(int opcode, byte[] payload, MaskingRules? rules)
    {
        var capture = Sample.Asked(Sample.Store());
        capture.OnResponseHead("HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n"u8, 101);
        capture.OnUpgraded();
        capture.OnResponseBody([(byte)(0x80 | opcode), (byte)payload.Length, .. payload]);
        var message = Assert.Single(capture.Messages.Kept);
        Assert.NotEqual(MessageKind.Broken, message.Kind);
        var read = MessageView.Of(message, rules);
        return (read.Text ?? Encoding.Latin1.GetString(read.Bytes), read.IsMasked);
    }
}
