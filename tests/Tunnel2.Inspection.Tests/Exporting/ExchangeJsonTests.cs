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

    private static (string Shown, bool IsMasked) Shown(int opcode, byte[] payload, MaskingRules? rules)
    {
        var capture = Sample.Asked(Sample.Store());
        capture.OnResponseHead("HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n"u8, 101);
        capture.OnUpgraded();
        capture.OnResponseBody([(byte)(0x80 | opcode), (byte)payload.Length, .. payload]);
        var message = Assert.Single(capture.Messages.Kept);
        Assert.NotEqual(MessageKind.Broken, message.Kind);
        var (text, bytes, _, _, isMasked) = ExchangeJson.Read(message, rules);
        return (text ?? Encoding.Latin1.GetString(bytes ?? []), isMasked);
    }
}
