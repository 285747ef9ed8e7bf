using System.Buffers;

namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>
/// Makes a visitor's bytes safe for a log: all bytes except visible ASCII are written as <c>%XX</c>. So no line break, escape sequence or
/// broken encoding gets in. In a request target this is the same address in another spelling (RFC 3986 section 2.1).
/// </summary>
internal static class LogSafe
{
    private static readonly SearchValues<byte> _harmless = SearchValues.Create(
        "!#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~"u8);

    /// <summary>The length of the safe form at most.</summary>
    public static int MaxLength(int length) => length * 3;

    /// <summary>Writes the safe form.</summary>
    /// <returns>Its length.</returns>
    public static int Write(ReadOnlySpan<byte> text, Span<byte> destination)
    {
        var written = 0;
        while (!text.IsEmpty)
        {
            var plain = text.IndexOfAnyExcept(_harmless);
            plain = plain < 0 ? text.Length : plain;
            text[..plain].CopyTo(destination[written..]);
            written += plain;
            if (plain == text.Length)
            {
                break;
            }

            destination[written] = (byte)'%';
            destination[written + 1] = HexDigit(text[plain] >> 4);
            destination[written + 2] = HexDigit(text[plain] & 0xF);
            written += 3;
            text = text[(plain + 1)..];
        }

        return written;
    }

    private static byte HexDigit(int value) => (byte)(value < 10 ? '0' + value : 'A' + value - 10);
}
