using System.Buffers;
using System.Globalization;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;

namespace Tunnel2.Inspection.Masking;

/// <summary>
/// Replaces the values of secret keys in text that may be JSON, whole or cut off, or may only look like it. It reads strings and brackets
/// and nothing else, so what is not JSON passes as it is, and a key cannot hide behind an error before it. A string that is itself JSON or
/// a URL is masked as one.
/// </summary>
internal static class JsonMask
{
    private const byte Quote = (byte)'"';

    /// <summary>How deep JSON is looked for in strings of JSON; each level doubles the backslashes.</summary>
    private const int MostLevels = 4;

    /// <summary>What a text has in it that is a URL with a query, a fragment or a password, or JSON.</summary>
    private static readonly SearchValues<byte> _signs = SearchValues.Create("?#@{"u8);

    private static readonly byte[] _mask = Encoding.ASCII.GetBytes($"\"{MaskingRules.Mask}\"");

    /// <summary>Masks a text.</summary>
    /// <param name="text">UTF-8, or anything.</param>
    /// <param name="rules">The names.</param>
    /// <param name="masked">Whether anything was replaced.</param>
    public static byte[] Apply(ReadOnlySpan<byte> text, MaskingRules rules, out bool masked) => Apply(text, rules, 0, out masked);

    private static byte[] Apply(ReadOnlySpan<byte> text, MaskingRules rules, int level, out bool masked)
    {
        masked = false;
        var output = new ArrayBufferWriter<byte>(Math.Max(16, text.Length));
        var position = 0;
        while (position < text.Length)
        {
            var quote = text[position..].IndexOf(Quote);
            if (quote < 0)
            {
                output.Write(text[position..]);
                break;
            }

            output.Write(text.Slice(position, quote));
            position += quote;
            var end = EndOfString(text, position);
            var after = SkipSpace(text, end);
            if (after >= text.Length || text[after] != (byte)':')
            {
                masked |= WriteText(output, text[position..end], rules, level);
                position = end;
                continue;
            }

            output.Write(text[position..end]);
            var value = SkipSpace(text, after + 1);
            output.Write(text[end..value]);
            var key = Unescape(text[(position + 1)..Math.Max(position + 1, end - 1)]);
            position = value;
            if (value < text.Length && rules.IsSecret(key))
            {
                output.Write(_mask);
                position = EndOfValue(text, value);
                masked = true;
            }
        }

        return output.WrittenSpan.ToArray();
    }

    /// <summary>Writes a string that is no key, with its quotes.</summary>
    /// <returns>Whether something in it was replaced.</returns>
    private static bool WriteText(ArrayBufferWriter<byte> output, ReadOnlySpan<byte> quoted, MaskingRules rules, int level)
    {
        if (level < MostLevels && quoted.IndexOfAny(_signs) >= 0)
        {
            var isWhole = quoted.Length > 1 && quoted[^1] == Quote;
            var text = Unescape(quoted[1..(isWhole ? ^1 : ^0)]);
            var shown = text.AsSpan().TrimStart() is ['{' or '[', ..]
                ? Encoding.UTF8.GetString(Apply(Encoding.UTF8.GetBytes(text), rules, level + 1, out _))
                : text.AsSpan().ContainsAny(' ', '\n') ? text
                : rules.OfUrl(text);
            if (shown != text)
            {
                var escaped = JsonEncodedText.Encode(shown, JavaScriptEncoder.UnsafeRelaxedJsonEscaping);
                output.Write([Quote, .. escaped.EncodedUtf8Bytes, Quote]);
                return true;
            }
        }

        output.Write(quoted);
        return false;
    }

    private static int SkipSpace(ReadOnlySpan<byte> text, int position)
    {
        while (position < text.Length && text[position] is (byte)' ' or (byte)'\t' or (byte)'\r' or (byte)'\n')
        {
            position++;
        }

        return position;
    }

    /// <summary>The index after the closing quote, or the end of the text.</summary>
    private static int EndOfString(ReadOnlySpan<byte> text, int position)
    {
        position++;
        while (position < text.Length)
        {
            var next = text[position..].IndexOfAny(Quote, (byte)'\\');
            if (next < 0)
            {
                return text.Length;
            }

            position += next;
            if (text[position] == Quote)
            {
                return position + 1;
            }

            position += 2;
        }

        return text.Length;
    }

    private static int EndOfValue(ReadOnlySpan<byte> text, int position)
    {
        if (text[position] == Quote)
        {
            return EndOfString(text, position);
        }

        var depth = 0;
        while (position < text.Length)
        {
            switch (text[position])
            {
                case Quote:
                    position = EndOfString(text, position);
                    continue;
                case (byte)'{' or (byte)'[':
                    depth++;
                    break;
                case (byte)'}' or (byte)']':
                    if (--depth <= 0)
                    {
                        return depth < 0 ? position : position + 1;
                    }

                    break;
                case (byte)',' or (byte)'\n' when depth == 0:
                    return position;
                default:
                    break;
            }

            position++;
        }

        return text.Length;
    }

    private static string Unescape(ReadOnlySpan<byte> key)
    {
        var text = Encoding.UTF8.GetString(key);
        if (!text.Contains('\\', StringComparison.Ordinal))
        {
            return text;
        }

        var plain = new StringBuilder(text.Length);
        for (var i = 0; i < text.Length; i++)
        {
            if (text[i] != '\\' || i + 1 >= text.Length)
            {
                plain.Append(text[i]);
            }
            else if (text[i + 1] == 'u' && i + 5 < text.Length
                && ushort.TryParse(text.AsSpan(i + 2, 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out var code))
            {
                plain.Append((char)code);
                i += 5;
            }
            else
            {
                plain.Append(text[++i] switch { 'n' => '\n', 'r' => '\r', 't' => '\t', 'b' => '\b', 'f' => '\f', var other => other });
            }
        }

        // Half of a pair alone is no text that can be written again.
        return Encoding.UTF8.GetString(Encoding.UTF8.GetBytes(plain.ToString()));
    }
}
