using System.Text;
using Tunnel2.Http2.Hpack;

namespace Tunnel2.Http2.Tests.Hpack;

/// <summary>Strings of RFC 7541 appendix C, and each symbol by the codes of appendix B that are easy to get wrong.</summary>
public sealed class HpackHuffmanTests
{
    [Theory]
    [InlineData("f1e3c2e5f23a6ba0ab90f4ff", "www.example.com")]
    [InlineData("a8eb10649cbf", "no-cache")]
    [InlineData("25a849e95ba97d7f", "custom-key")]
    [InlineData("6402", "302")]
    [InlineData("9bd9ab", "gzip")]
    [InlineData("", "")]
    [InlineData("ffc7", "\0")]
    [InlineData("fffffff3", "\n")]
    [InlineData("fffffff7", "\r")]
    [InlineData("fffffffb", "\u0016")]
    [InlineData("fffffbbf", "\u00ff")]
    [InlineData("ffef", "~")]
    [InlineData("fffe1fff3f", "\\<")]
    public void A_string_is_decoded(string coded, string text)
    {
        var source = Convert.FromHexString(coded);
        Span<byte> destination = new byte[HpackHuffman.MaxDecodedLength(source.Length)];
        var length = HpackHuffman.Decode(source, destination);
        Assert.True(length >= 0, "It is refused.");
        Assert.Equal(text, Encoding.Latin1.GetString(destination[..length]));
    }

    [Theory]
    [InlineData("ff")]
    [InlineData("ffffffff")]
    [InlineData("6402ff")]
    [InlineData("00")]
    public void What_does_not_end_right_is_refused(string coded)
    {
        var source = Convert.FromHexString(coded);
        Assert.Equal(-1, HpackHuffman.Decode(source, new byte[HpackHuffman.MaxDecodedLength(source.Length)]));
    }
}
