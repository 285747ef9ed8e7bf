using Tunnel2.Http2.Frames;

namespace Tunnel2.Http2.Tests.Frames;

public sealed class Http2FramesTests
{
    [Fact]
    public void A_header_is_read_as_it_was_written_without_the_reserved_bit()
    {
        var header = new Http2FrameHeader(0xabcdef, Http2FrameType.Continuation, Http2FrameFlags.EndHeaders, int.MaxValue);
        var bytes = new byte[Http2FrameHeader.Size];
        header.Write(bytes);
        Assert.Equal("abcdef09047fffffff", Convert.ToHexStringLower(bytes));
        bytes[5] |= 0x80;
        Assert.Equal(header, Http2FrameHeader.Read(bytes));
    }

    [Theory]
    [InlineData(0x00, "0102", "0102")]
    [InlineData(0x08, "020102ffff", "0102")]
    [InlineData(0x08, "00", "")]
    [InlineData(0x08, "01", null)]
    [InlineData(0x08, "", null)]
    [InlineData(0x08, "030102", null)]
    [InlineData(0x20, "00000000ff0102", "0102")]
    [InlineData(0x28, "0200000000ff0102eeee", "0102")]
    [InlineData(0x20, "00000000", null)]
    [InlineData(0x28, "0300000000ff0102", null)]
    public void Padding_and_priority_are_removed(byte flags, string payload, string? rest)
    {
        ReadOnlySpan<byte> bytes = Convert.FromHexString(payload);
        var header = new Http2FrameHeader(bytes.Length, Http2FrameType.Headers, (Http2FrameFlags)flags, 1);
        Assert.Equal(rest is not null, Http2Frames.TryUnpad(header, ref bytes));
        Assert.Equal(rest ?? Convert.ToHexStringLower(bytes), Convert.ToHexStringLower(bytes));
    }

    [Theory]
    [InlineData("000100001000", 0u)]
    [InlineData("00047fffffff", 0u)]
    [InlineData("000480000000", 3u)]
    [InlineData("000500004000", 0u)]
    [InlineData("000500003fff", 1u)]
    [InlineData("000501000000", 1u)]
    [InlineData("000200000000", 0u)]
    [InlineData("000200000001", 1u)]
    [InlineData("000800000001", 0u)]
    [InlineData("000800000002", 1u)]
    [InlineData("000800000001000800000000", 1u)]
    [InlineData("ffff12345678", 0u)]
    [InlineData("0001000010", 6u)]
    public void Settings_are_judged(string payload, uint code)
    {
        var settings = new Http2PeerSettings();
        Assert.Equal((Http2ErrorCode)code, settings.Apply(Convert.FromHexString(payload)));
    }

    [Fact]
    public void Settings_are_taken_over_in_their_order()
    {
        var settings = new Http2PeerSettings();
        Assert.Equal((uint.MaxValue, 65_535, 16_384, false), Values(settings));
        settings.Apply(Convert.FromHexString("000300000064" + "000400000001" + "000400000002" + "000500008000" + "000800000001"));
        Assert.Equal((100u, 2, 32_768, true), Values(settings));
    }

    [Theory]
    [InlineData("x-name", true)]
    [InlineData("X-name", false)]
    [InlineData(":path", false)]
    [InlineData("a b", false)]
    [InlineData("", false)]
    public void Names_have_no_upper_case(string name, bool isValid) =>
        Assert.Equal(isValid, Http2FieldSyntax.IsName(System.Text.Encoding.Latin1.GetBytes(name)));

    [Theory]
    [InlineData("", true)]
    [InlineData("a\tb \u00ff", true)]
    [InlineData(" a", false)]
    [InlineData("a\t", false)]
    [InlineData("a\nb", false)]
    [InlineData("a\0", false)]
    [InlineData("a\u007f", false)]
    public void Values_have_no_control_characters_and_no_space_at_their_ends(string value, bool isValid) =>
        Assert.Equal(isValid, Http2FieldSyntax.IsValue(System.Text.Encoding.Latin1.GetBytes(value)));

    private static (uint Streams, int Window, int Frame, bool Connect) Values(Http2PeerSettings settings) =>
        (settings.MaxConcurrentStreams, settings.InitialWindowSize, settings.MaxFrameSize, settings.AllowsConnectProtocol);
}
