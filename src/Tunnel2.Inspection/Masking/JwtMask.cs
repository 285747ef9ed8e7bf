using System.Buffers;
using System.Text;

namespace Tunnel2.Inspection.Masking;

/// <summary>
/// Replaces JSON Web Tokens in any text. They are known by their form: a header of JSON in base64, which always begins with the same three
/// letters, and two or more further parts with full stops between them.
/// </summary>
internal static class JwtMask
{
    private const int ShortestHeader = 12;

    private static readonly SearchValues<byte> _letters =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"u8);

    private static readonly byte[] _mask = Encoding.ASCII.GetBytes(MaskingRules.Mask);

    /// <summary>Masks a text.</summary>
    public static string Apply(string text) => !text.Contains("eyJ", StringComparison.Ordinal)
        ? text
        : Apply(Encoding.UTF8.GetBytes(text), out var isMasked) is var shown && isMasked ? Encoding.UTF8.GetString(shown) : text;

    /// <summary>Masks a text.</summary>
    /// <param name="text">UTF-8, or anything.</param>
    /// <param name="isMasked">Whether anything was replaced.</param>
    /// <returns>The same array where nothing was.</returns>
    public static byte[] Apply(byte[] text, out bool isMasked)
    {
        var output = new ArrayBufferWriter<byte>();
        var written = 0;
        for (int position = 0, next; (next = text.AsSpan(position).IndexOf("eyJ"u8)) >= 0;)
        {
            var begin = position + next;
            position = EndOf(text, begin, out var isToken);

            // A letter before it makes it the end of another word.
            if (isToken && (begin == 0 || !_letters.Contains(text[begin - 1])))
            {
                output.Write(text.AsSpan(written, begin - written));
                output.Write(_mask);
                written = position;
            }
        }

        isMasked = written > 0;
        if (isMasked)
        {
            output.Write(text.AsSpan(written));
        }

        return isMasked ? output.WrittenSpan.ToArray() : text;
    }

    /// <summary>The index after a token, or after what only begins as one.</summary>
    private static int EndOf(ReadOnlySpan<byte> text, int begin, out bool isToken)
    {
        var header = EndOfPart(text, begin);
        var payload = header - begin < ShortestHeader ? header : EndOfPart(text, header + 1);
        isToken = IsStop(text, header) && payload > header + 1 && IsStop(text, payload);
        if (!isToken)
        {
            return header;
        }

        var end = payload;
        while (IsStop(text, end))
        {
            end = EndOfPart(text, end + 1);
        }

        return end;
    }

    private static bool IsStop(ReadOnlySpan<byte> text, int position) => position < text.Length && text[position] == (byte)'.';

    private static int EndOfPart(ReadOnlySpan<byte> text, int begin)
    {
        begin = Math.Min(begin, text.Length);
        var length = text[begin..].IndexOfAnyExcept(_letters);
        return length < 0 ? text.Length : begin + length;
    }
}
