using System.Buffers.Binary;
using System.Text;

namespace Tunnel2.Client.Core.Diagnostics;

/// <summary>What kind of peer begins with certain bytes, where something else was expected.</summary>
internal static class FirstBytes
{
    private const int Http2FrameHeader = 9;
    private const int Http2Settings = 4;
    private const int Http2GoAway = 7;
    private const int Http2MaxFrame = 16_384;
    private const int MaxText = 24;

    /// <summary>A TLS record (RFC 8446 section 5.1): alert or handshake, version 3.x.</summary>
    public static bool AreTls(ReadOnlySpan<byte> first) => first is [0x15 or 0x16, 0x03, <= 0x04, ..];

    /// <summary>
    /// A server's side of HTTP/2 (RFC 9113 section 3.4): it begins with SETTINGS, or says goodbye at once; or the preface comes back.
    /// </summary>
    public static bool AreHttp2(ReadOnlySpan<byte> first)
    {
        if (first.StartsWith("PRI * HTTP/2"u8))
        {
            return true;
        }

        if (first.Length < Http2FrameHeader || BinaryPrimitives.ReadInt32BigEndian(first[5..]) != 0)
        {
            return false;
        }

        var length = (first[0] << 16) | (first[1] << 8) | first[2];
        return length <= Http2MaxFrame && first[3] switch
        {
            Http2Settings => first[4] <= 1 && length % 6 == 0,
            Http2GoAway => length >= 8,
            _ => false,
        };
    }

    /// <summary>What they say, when they say it in letters: SSH, SMTP and others greet. Null when not.</summary>
    public static string? Text(ReadOnlySpan<byte> first)
    {
        var length = first.IndexOfAnyExceptInRange((byte)' ', (byte)'~');
        var text = first[..Math.Min(MaxText, length < 0 ? first.Length : length)];
        var endsAsALine = length < 0 || first[length] is (byte)'\r' or (byte)'\n' || length >= MaxText;
        return text.Length >= 4 && endsAsALine ? Encoding.ASCII.GetString(text) : null;
    }
}
