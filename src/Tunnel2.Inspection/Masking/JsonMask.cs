using System.Buffers;
using System.Globalization;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;

namespace Tunnel2.Inspection.Masking;

/// <summary>
/// Replaces the values of secret keys in text that may be JSON, whole or cut off, or may only look like it. It reads strings and brackets
/// and nothing else, so what is not JSON passes as it is, and a key cannot hide behind an error before it: a quote that is one too many
/// turns texts and what is between them around until the next key. A string that is itself JSON or a URL is masked as one. A name without
/// quotes before a text is a key too, as the arguments of GraphQL, attributes and source code have them.
/// </summary>
internal static class JsonMask
{
    private const byte Quote = (byte)'"';

    /// <summary>How far a name without quotes is looked for before its text, bytes.</summary>
    private const int MostBeforeText = 128;

    private static readonly SearchValues<byte> _inName =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.$"u8);

    /// <summary>All that is between two strings of JSON, of which the first is no key.</summary>
    private static readonly SearchValues<byte> _between = SearchValues.Create(" \t\r\n,[]{}0123456789+-.eEtrufalsn"u8);

    private static readonly byte[] _blockQuote = [Quote, Quote, Quote];

    private static readonly byte[] _plainMask = Encoding.ASCII.GetBytes(MaskingRules.Mask);

    private static readonly byte[] _mask = Encoding.ASCII.GetBytes($"\"{MaskingRules.Mask}\"");

    /// <summary>Masks a text.</summary>
    /// <param name="text">UTF-8, or anything.</param>
    /// <param name="rules">The names.</param>
    /// <param name="masked">Whether anything was replaced.</param>
    public static byte[] Apply(ReadOnlySpan<byte> text, MaskingRules rules, out bool masked)
    {
        var shown = OfOtherQuotes(Apply(text, rules, 0, out masked), rules, out var hasText);
        shown = TokenMask.Apply(shown, out var hasToken);
        masked |= hasText || hasToken;
        return shown;
    }

    /// <summary>Masks texts in the quotes that JSON does not have, after the name of a secret: source code has them.</summary>
    private static byte[] OfOtherQuotes(byte[] text, MaskingRules rules, out bool masked)
    {
        var output = new ArrayBufferWriter<byte>();
        var written = 0;
        for (int position = 0, next; (next = text.AsSpan(position).IndexOfAny((byte)'\'', (byte)'`')) >= 0;)
        {
            position += next + 1;
            if (HasSecretName(text.AsSpan(0, position - 1), rules))
            {
                output.Write(text.AsSpan(written, position - written));
                output.Write(_plainMask);
                written = EndOfOtherQuote(text, position, text[position - 1]);
                position = Math.Min(text.Length, written + 1);
            }
        }

        masked = written > 0;
        output.Write(masked ? text.AsSpan(written) : default);
        return masked ? output.WrittenSpan.ToArray() : text;
    }

    /// <summary>The index of the quote that ends a text, or the end. Only between backquotes a text has several lines.</summary>
    private static int EndOfOtherQuote(ReadOnlySpan<byte> text, int position, byte quote)
    {
        for (; position < text.Length && text[position] != quote && (quote == (byte)'`' || text[position] != (byte)'\n'); position++)
        {
            position += text[position] == (byte)'\\' ? 1 : 0;
        }

        return Math.Min(position, text.Length);
    }

    /// <summary>Masks a text that others contain.</summary>
    /// <param name="text">UTF-8, or anything.</param>
    /// <param name="rules">The names.</param>
    /// <param name="level">How many other texts contain it.</param>
    /// <param name="masked">Whether anything was replaced.</param>
    internal static byte[] Apply(ReadOnlySpan<byte> text, MaskingRules rules, int level, out bool masked)
    {
        masked = false;
        var output = new ArrayBufferWriter<byte>(Math.Max(16, text.Length));
        var pairs = new JsonPairs();
        var position = 0;
        while (position < text.Length)
        {
            var quote = text[position..].IndexOf(Quote);
            if (quote < 0)
            {
                output.Write(text[position..]);
                break;
            }

            pairs.Between(text.Slice(position, quote), output.WrittenCount);
            output.Write(text.Slice(position, quote));
            position += quote;
            var end = EndOfString(text, position, out var isWhole);
            if (!IsKey(text, end, out var value))
            {
                if (HasSecretName(text[..position], rules) || IsSecondOfPair(text, position, end, rules))
                {
                    end = EndOfBlock(text, position) ?? end;
                    output.Write(_mask);
                    masked = true;
                }
                else if (isWhole && BeginsKey(text, end - 1))
                {
                    // The quote that ends this text begins a key: there was one too many.
                    end--;
                    output.Write(text[position..end]);
                }
                else
                {
                    masked |= WriteText(output, text[position..end], isWhole, rules, level);
                }

                position = end;
                continue;
            }

            output.Write(text[position..value]);
            var key = Unescape(text[(position + 1)..(end - 1)]);
            position = value;
            var name = PairNames.IsName(key) ? NameAt(text, value) : null;
            var isOfPair = pairs.IsSecret(key, name, output.WrittenCount, rules);
            if (value < text.Length && (isOfPair || rules.IsSecret(key)))
            {
                output.Write(_mask);
                position = EndOfValue(text, value);
                masked = true;
            }
        }

        return pairs.Apply(output.WrittenSpan, _mask, ref masked);
    }

    /// <summary>The text that is a value, where it is short enough for a name.</summary>
    private static string? NameAt(ReadOnlySpan<byte> text, int value)
    {
        if (value >= text.Length || text[value] != Quote)
        {
            return null;
        }

        var near = text[..Math.Min(text.Length, value + (6 * PairNames.Longest))];
        var end = EndOfString(near, value, out var isWhole);
        return isWhole ? Unescape(text[(value + 1)..(end - 1)]) : null;
    }

    /// <summary>Whether the string that ends before an index is a key, and where its value begins.</summary>
    private static bool IsKey(ReadOnlySpan<byte> text, int end, out int value)
    {
        var after = SkipSpace(text, end);
        value = after < text.Length && text[after] == (byte)':' ? SkipSpace(text, after + 1) : 0;
        return value > 0;
    }

    /// <summary>
    /// Whether a quote that ends a text begins a key instead. In JSON the next quote begins a text, and between them is nothing that names
    /// anything. It is never looked further than the text after it ends.
    /// </summary>
    private static bool BeginsKey(ReadOnlySpan<byte> text, int quote)
    {
        var end = EndOfString(text, quote, out var isWhole);
        return isWhole && IsKey(text, end, out _) && text[(quote + 1)..(end - 1)].IndexOfAnyExcept(_between) >= 0;
    }

    /// <summary>Whether a text ends with the name of a secret, without quotes, and a sign that its value follows.</summary>
    private static bool HasSecretName(ReadOnlySpan<byte> text, MaskingRules rules)
    {
        var before = text[Math.Max(0, text.Length - MostBeforeText)..].TrimEnd(" \t\r\n"u8);
        if (before is not [.., (byte)':' or (byte)'='])
        {
            return false;
        }

        before = before[..^1].TrimEnd(" \t\r\n"u8);
        var name = before[(before.LastIndexOfAnyExcept(_inName) + 1)..];
        return !name.IsEmpty && rules.IsSecret(Encoding.ASCII.GetString(name));
    }

    /// <summary>
    /// Whether a text is the second of two in an array within an array, and the first is the name of a secret: lists of fields are
    /// written so, and lists of two names are not.
    /// </summary>
    private static bool IsSecondOfPair(ReadOnlySpan<byte> text, int position, int end, MaskingRules rules)
    {
        var after = SkipSpace(text, end);
        var before = text[Math.Max(0, position - MostBeforeText)..position].TrimEnd(" \t\r\n"u8);
        if (after >= text.Length || text[after] != (byte)']' || before is not [.., (byte)','])
        {
            return false;
        }

        before = before[..^1].TrimEnd(" \t\r\n"u8);
        var begin = before is [.., Quote] ? before[..^1].LastIndexOf(Quote) : -1;
        return begin > 0 && before[..begin].TrimEnd(" \t\r\n"u8) is [.. var outer, (byte)'[']
            && outer.TrimEnd(" \t\r\n"u8) is [.., (byte)'[' or (byte)',']
            && rules.IsSecret(Unescape(before[(begin + 1)..^1]));
    }

    /// <summary>Where a text of several lines ends, which has three quotes at either end; null: it is none.</summary>
    private static int? EndOfBlock(ReadOnlySpan<byte> text, int position)
    {
        if (!text[position..].StartsWith(_blockQuote))
        {
            return null;
        }

        position += _blockQuote.Length;
        while (text[position..].IndexOf(_blockQuote) is >= 0 and var next)
        {
            position += next + _blockQuote.Length;
            if (text[position - _blockQuote.Length - 1] != (byte)'\\')
            {
                return position;
            }
        }

        return text.Length;
    }

    /// <summary>Writes a string that is no key, with its quotes.</summary>
    /// <returns>Whether something in it was replaced.</returns>
    private static bool WriteText(
        ArrayBufferWriter<byte> output, ReadOnlySpan<byte> quoted, bool isWhole, MaskingRules rules, int level)
    {
        if (UrlMask.MayBeOneInJson(quoted))
        {
            var text = Unescape(quoted[1..(isWhole ? ^1 : ^0)]);
            var shown = rules.OfText(text, level + 1);
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
    private static int EndOfString(ReadOnlySpan<byte> text, int position, out bool isWhole)
    {
        position++;
        isWhole = false;
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
                isWhole = true;
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
            return EndOfString(text, position, out _);
        }

        var depth = 0;
        while (position < text.Length)
        {
            switch (text[position])
            {
                case Quote:
                    position = EndOfString(text, position, out _);
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
