using System.Buffers;
using System.Text;
using Tunnel2.Inspection.Heads;

namespace Tunnel2.Inspection.Masking;

/// <summary>
/// Replaces values in tags of HTML and XML that another attribute of the tag names: <c>&lt;input name="csrf" value="…"&gt;</c>,
/// <c>&lt;meta name="csrf-token" content="…"&gt;</c>, <c>&lt;add key="Password" value="…"/&gt;</c>, and the text of
/// <c>&lt;property name="password"&gt;…&lt;/property&gt;</c>. The text may be cut off. Pure.
/// </summary>
internal static class TagPairMask
{
    private static readonly SearchValues<byte> _space = SearchValues.Create(" \t\r\n\f/"u8);
    private static readonly SearchValues<byte> _afterName = SearchValues.Create(" \t\r\n\f/>="u8);
    private static readonly SearchValues<byte> _afterValue = SearchValues.Create(" \t\r\n\f>"u8);
    private static readonly byte[] _mask = Encoding.ASCII.GetBytes(MaskingRules.Mask);

    /// <summary>Masks a text.</summary>
    /// <param name="text">UTF-8, or anything.</param>
    /// <param name="rules">The names.</param>
    /// <param name="masked">Whether anything was replaced.</param>
    public static byte[] Apply(ReadOnlySpan<byte> text, MaskingRules rules, out bool masked)
    {
        var output = new ArrayBufferWriter<byte>(Math.Max(16, text.Length));
        var secrets = new List<Range>();
        masked = false;
        var written = 0;
        for (var position = 0; text[position..].IndexOf((byte)'<') is >= 0 and var open;)
        {
            position += open + 1;
            if (position == text.Length || !char.IsAsciiLetter((char)text[position]))
            {
                continue;
            }

            secrets.Clear();
            position = ReadTag(text, position, rules, secrets);
            foreach (var secret in secrets)
            {
                output.Write(text[written..secret.Start.Value]);
                output.Write(_mask);
                written = secret.End.Value;
                masked = true;
            }
        }

        output.Write(text[written..]);
        return output.WrittenSpan.ToArray();
    }

    /// <summary>Reads a tag from its name to its end, and finds what is secret in it and in the text after it.</summary>
    private static int ReadTag(ReadOnlySpan<byte> text, int begin, MaskingRules rules, List<Range> secrets)
    {
        var position = End(text, begin, _afterName);
        var tag = text[begin..position];
        var (isSecret, isTextSecret) = (false, false);
        while (true)
        {
            var skipped = text[position..].IndexOfAnyExcept(_space);
            position = skipped < 0 ? text.Length : position + skipped;
            if (position == text.Length || text[position] == (byte)'>')
            {
                break;
            }

            // A tag that never ended: the next one begins.
            if (text[position] == (byte)'<')
            {
                break;
            }

            var end = End(text, position + 1, _afterName);
            var name = text[position..end];
            var value = ValueAfter(text, end, out position);
            if (Is(name, "value"u8) || Is(name, "content"u8))
            {
                secrets.Add(value);
            }
            else if (Is(name, "name"u8) || Is(name, "key"u8) || Is(name, "id"u8))
            {
                var isNamed = value.End.Value - value.Start.Value <= PairNames.Longest
                    && PairNames.IsSecret(HeadText.Of(text[value]), rules);
                isSecret |= isNamed;
                isTextSecret |= isNamed && !Is(name, "id"u8);
            }
            else
            {
                isSecret |= Is(name, "type"u8) && Is(text[value], "password"u8);
            }
        }

        if (!isSecret)
        {
            secrets.Clear();
        }

        secrets.RemoveAll(static secret => secret.Start.Value == secret.End.Value);
        if (isTextSecret && position < text.Length && text[position] == (byte)'>' && !Is(tag, "a"u8) && !Is(tag, "button"u8))
        {
            AddText(text, position + 1, tag, secrets);
        }

        return position;
    }

    /// <summary>The text of an element, where it has nothing else, or where it is cut off.</summary>
    private static void AddText(ReadOnlySpan<byte> text, int begin, ReadOnlySpan<byte> tag, List<Range> secrets)
    {
        var length = text[begin..].IndexOf((byte)'<');
        var close = length < 0 ? [] : text[(begin + length + 1)..];
        if (length != 0 && (length < 0 ? begin < text.Length && text[begin - 2] != (byte)'/'
            : close.Length > tag.Length && close[0] == (byte)'/' && Is(close.Slice(1, tag.Length), tag)))
        {
            secrets.Add(begin..(length < 0 ? text.Length : begin + length));
        }
    }

    /// <summary>The value of an attribute after its name, and where the next one may begin.</summary>
    private static Range ValueAfter(ReadOnlySpan<byte> text, int position, out int next)
    {
        next = position;
        var after = position + text[position..].Length - text[position..].TrimStart(" \t\r\n\f"u8).Length;
        if (after == text.Length || text[after] != (byte)'=')
        {
            return position..position;
        }

        after++;
        after += text[after..].Length - text[after..].TrimStart(" \t\r\n\f"u8).Length;
        if (after < text.Length && text[after] is (byte)'"' or (byte)'\'')
        {
            var length = text[(after + 1)..].IndexOf(text[after]);
            var end = length < 0 ? text.Length : after + 1 + length;
            next = Math.Min(text.Length, end + 1);
            return (after + 1)..end;
        }

        next = End(text, after, _afterValue);
        return after..next;
    }

    private static int End(ReadOnlySpan<byte> text, int position, SearchValues<byte> ends) =>
        text[position..].IndexOfAny(ends) is >= 0 and var length ? position + length : text.Length;

    private static bool Is(ReadOnlySpan<byte> name, ReadOnlySpan<byte> expected) => Ascii.EqualsIgnoreCase(name, expected);
}
