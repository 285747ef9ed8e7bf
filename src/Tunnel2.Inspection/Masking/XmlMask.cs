using System.Buffers;
using System.Text;

namespace Tunnel2.Inspection.Masking;

/// <summary>
/// Replaces the contents of secret elements and the values of secret attributes in text that may be XML, whole or cut off. It reads tags
/// and nothing else; a namespace's prefix is no part of a name.
/// </summary>
internal static class XmlMask
{
    private static readonly SearchValues<byte> _afterName = SearchValues.Create(" \t\r\n/>"u8);
    private static readonly SearchValues<byte> _space = SearchValues.Create(" \t\r\n"u8);
    private static readonly byte[] _mask = Encoding.ASCII.GetBytes(MaskingRules.Mask);

    /// <summary>Masks a text.</summary>
    /// <param name="text">UTF-8, or anything.</param>
    /// <param name="rules">The names.</param>
    /// <param name="masked">Whether anything was replaced.</param>
    public static byte[] Apply(ReadOnlySpan<byte> text, MaskingRules rules, out bool masked)
    {
        masked = false;
        var output = new ArrayBufferWriter<byte>(Math.Max(16, text.Length));
        var rest = text;
        while (rest.IndexOf((byte)'<') is >= 0 and var open)
        {
            output.Write(rest[..(open + 1)]);
            rest = rest[(open + 1)..];
            if (rest is [(byte)'/' or (byte)'!' or (byte)'?', ..])
            {
                continue;
            }

            var tag = rest[..EndOfTag(rest)];
            var nameLength = tag.IndexOfAny(_afterName);
            var name = nameLength < 0 ? tag : tag[..nameLength];
            masked |= WriteTag(output, tag, name.Length, rules);
            rest = rest[tag.Length..];
            if (tag is [.., (byte)'/', (byte)'>'] or not [.., (byte)'>'] || !IsSecret(name, rules))
            {
                continue;
            }

            var close = CloseOf(rest, name);
            output.Write(_mask);
            masked = true;
            rest = close < 0 ? [] : rest[close..];
        }

        output.Write(rest);
        var shown = TagPairMask.Apply(output.WrittenSpan, rules, out var isPairMasked);
        masked |= isPairMasked;
        return shown;
    }

    /// <summary>
    /// Where the tag begins that closes an element; -1 where none does. It may contain others of its name and of longer names that begin
    /// with it, and a tag in a section of characters or a remark closes nothing.
    /// </summary>
    private static int CloseOf(ReadOnlySpan<byte> content, ReadOnlySpan<byte> name)
    {
        var depth = 1;
        for (var position = 0; content[position..].IndexOf((byte)'<') is >= 0 and var next;)
        {
            position += next;
            var tag = content[(position + 1)..];
            var isSection = tag.StartsWith("![CDATA["u8);
            if (isSection || tag.StartsWith("!--"u8))
            {
                var end = tag.IndexOf(isSection ? "]]>"u8 : "-->"u8);
                if (end < 0)
                {
                    return -1;
                }

                position += 1 + end;
            }
            else if (tag is [(byte)'/', ..] && IsNamed(tag[1..], name))
            {
                if (--depth == 0)
                {
                    return position;
                }

                position++;
            }
            else if (IsNamed(tag, name))
            {
                var length = EndOfTag(tag);
                depth += tag[..length] is [.., (byte)'/', (byte)'>'] ? 0 : 1;
                position += 1 + length;
            }
            else
            {
                position++;
            }
        }

        return -1;
    }

    private static bool IsNamed(ReadOnlySpan<byte> tag, ReadOnlySpan<byte> name) =>
        tag.StartsWith(name) && (tag.Length == name.Length || _afterName.Contains(tag[name.Length]));

    /// <summary>The index after the end of a tag, or the end of the text. An attribute's value may have the sign that ends a tag.</summary>
    private static int EndOfTag(ReadOnlySpan<byte> tag)
    {
        for (var position = 0; tag[position..].IndexOfAny("<>\"'"u8) is >= 0 and var next;)
        {
            position += next;
            if (tag[position] is (byte)'>' or (byte)'<')
            {
                return tag[position] == (byte)'>' ? position + 1 : position;
            }

            var end = tag[(position + 1)..].IndexOf(tag[position]);
            if (end < 0)
            {
                break;
            }

            position += end + 2;
        }

        return tag.Length;
    }

    /// <summary>Writes a tag without the values of its secret attributes.</summary>
    private static bool WriteTag(ArrayBufferWriter<byte> output, ReadOnlySpan<byte> tag, int position, MaskingRules rules)
    {
        var masked = false;
        output.Write(tag[..position]);
        var rest = tag[position..];
        while (rest.IndexOfAny((byte)'"', (byte)'\'') is >= 0 and var quote)
        {
            var end = rest[(quote + 1)..].IndexOf(rest[quote]);
            var value = end < 0 ? rest[(quote + 1)..] : rest.Slice(quote + 1, end);
            var name = rest[..quote].TrimEnd("= \t\r\n"u8);
            output.Write(rest[..(quote + 1)]);
            var isSecret = IsSecret(name[(name.LastIndexOfAny(_space) + 1)..], rules);
            output.Write(isSecret ? _mask : value);
            masked |= isSecret;
            rest = rest[(quote + 1 + value.Length)..];
            if (end >= 0)
            {
                output.Write(rest[..1]);
                rest = rest[1..];
            }
        }

        output.Write(rest);
        return masked;
    }

    private static bool IsSecret(ReadOnlySpan<byte> name, MaskingRules rules) =>
        rules.IsSecret(Encoding.Latin1.GetString(name[(name.LastIndexOf((byte)':') + 1)..]));
}
