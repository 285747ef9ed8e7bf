using System.Buffers;
using System.Text;
using Tunnel2.Inspection.Heads;

namespace Tunnel2.Inspection.Masking;

/// <summary>Replaces the values of secret fields in <c>multipart/form-data</c>, whole or cut off.</summary>
internal static class MultipartMask
{
    /// <summary>Names are shorter. A longer one is masked without a look: many of them in one head would take long.</summary>
    private const int LongestName = 1024;

    /// <summary>RFC 2046 allows 70 characters.</summary>
    private const int LongestBoundary = 70;

    private static ReadOnlySpan<byte> PartHead => "Content-"u8;

    /// <summary>
    /// What divides a body: the boundary that its type declares, or where that is missing or another one, the first line of the body,
    /// if a part's head follows it; null: the body has no parts.
    /// </summary>
    /// <param name="body">The body.</param>
    /// <param name="declared">The boundary of its type, or null.</param>
    public static string? BoundaryOf(ReadOnlySpan<byte> body, string? declared)
    {
        if (declared is { Length: > 0 } && body.IndexOf(HeadText.Bytes("--" + declared)) >= 0)
        {
            return declared;
        }

        var lines = body.TrimStart("\r\n"u8);
        var end = lines.IndexOf((byte)'\n');
        var head = lines[(end + 1)..];
        if (end < 0 || !lines.StartsWith("--"u8)
            || !Ascii.EqualsIgnoreCase(head[..Math.Min(PartHead.Length, head.Length)], PartHead))
        {
            return null;
        }

        var boundary = lines[2..end].TrimEnd(" \t\r"u8);
        return boundary.Length is > 0 and <= LongestBoundary && Ascii.IsValid(boundary) ? HeadText.Of(boundary) : null;
    }

    /// <summary>Masks a body.</summary>
    /// <param name="body">The body.</param>
    /// <param name="boundary">Its boundary.</param>
    /// <param name="rules">The names.</param>
    /// <param name="masked">Whether anything was replaced.</param>
    public static byte[] Apply(ReadOnlySpan<byte> body, string boundary, MaskingRules rules, out bool masked)
    {
        masked = false;
        var mark = HeadText.Bytes("--" + boundary);
        var output = new ArrayBufferWriter<byte>(Math.Max(16, body.Length));
        var rest = body;
        while (true)
        {
            var next = rest.IndexOf(mark);
            if (next < 0)
            {
                output.Write(rest);
                return output.WrittenSpan.ToArray();
            }

            output.Write(rest[..(next + mark.Length)]);
            rest = rest[(next + mark.Length)..];
            var partEnd = rest.IndexOf(mark);

            // Within the part: to look through the whole rest for each part would take the square of the time.
            var head = EndOfHead(partEnd < 0 ? rest : rest[..partEnd]);
            if (head < 0 || !IsSecret(rest[..head], rules))
            {
                continue;
            }

            output.Write(rest[..head]);
            output.Write(Encoding.ASCII.GetBytes(MaskingRules.Mask));
            masked = true;
            if (partEnd < 0)
            {
                return output.WrittenSpan.ToArray();
            }

            output.Write(rest[head - 2] == (byte)'\r' ? "\r\n"u8 : "\n"u8);
            rest = rest[partEnd..];
        }
    }

    /// <summary>The index after the empty line that ends a part's head, with line ends of either kind; -1 where there is none.</summary>
    private static int EndOfHead(ReadOnlySpan<byte> part)
    {
        for (var line = 0; part[line..].IndexOf((byte)'\n') is >= 0 and var end;)
        {
            line += end + 1;
            if (part[line..] is [(byte)'\n', ..])
            {
                return line + 1;
            }

            if (part[line..] is [(byte)'\r', (byte)'\n', ..])
            {
                return line + 2;
            }
        }

        return -1;
    }

    /// <summary>
    /// Whether one of the names in a part's head is a secret's. A name may be in quotes after others that are part of a file's name, or in
    /// another field: where it is not certain which one counts, each does.
    /// </summary>
    private static bool IsSecret(ReadOnlySpan<byte> head, MaskingRules rules)
    {
        var text = HeadText.Of(head);
        for (var at = 0; (at = text.IndexOf("name", at, StringComparison.OrdinalIgnoreCase)) >= 0; at++)
        {
            // name*=UTF-8''… is the same in another spelling.
            var value = text.AsSpan(at + 4).TrimStart("* \t");
            if ((at > 0 && text[at - 1] is not (' ' or ';' or '\t')) || value is not ['=', ..])
            {
                continue;
            }

            value = value[1..];
            var end = value.IndexOfAny(";\r\n");
            if ((end < 0 ? value.Length : end) > LongestName
                || rules.IsSecret(Uri.UnescapeDataString((end < 0 ? value : value[..end]).ToString().Split("''")[^1].Trim().Trim('"'))))
            {
                return true;
            }
        }

        return false;
    }
}
