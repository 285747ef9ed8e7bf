using System.Text;
using System.Text.RegularExpressions;
using System.Text.Unicode;
using Tunnel2.Inspection.Heads;

namespace Tunnel2.Inspection.Exporting;

/// <summary>Writes a request as a line for HTTPie in bash or zsh.</summary>
internal static partial class HttpieWriter
{
    private const int LongestArgument = 64 * 1024;

    /// <summary>Writes the line.</summary>
    /// <param name="source">The request.</param>
    /// <param name="notes">What a reader has to know is added.</param>
    public static string Write(CopySource source, List<string> notes)
    {
        if (!source.Method.All(char.IsAsciiLetterUpper) || source.Target is not [(byte)'/', ..] || !Utf8.IsValid(source.Target))
        {
            notes.Add("HTTPie cannot send this request: its method is not of capital letters, or its target is no path of UTF-8");
            return "";
        }

        if (!SentAsItIs().IsMatch(HeadText.Of(source.Target)))
        {
            notes.Add("HTTPie writes the target in another way: some signs as %XX, or %XX as signs, or without a last ? or ;");
        }

        // HTTPie reads its arguments as UTF-8, and fails where they are not.
        var isPiped = source.Body.Length > LongestArgument || source.Body.AsSpan().Contains((byte)0) || !Utf8.IsValid(source.Body);
        var line = new StringBuilder();
        if (isPiped)
        {
            line.Append("printf %s ").Append(ShellQuote.OfText(Convert.ToBase64String(source.Body))).Append(" | base64 -d | ");
        }

        line.Append("http --path-as-is");
        if (!isPiped)
        {
            line.Append(" --ignore-stdin");
            if (source.Body.Length > 0)
            {
                line.Append(" --raw=").Append(ShellQuote.Of(source.Body));
            }
        }

        line.Append(' ').Append(ShellQuote.OfText(source.Method));
        line.Append(' ').Append(ShellQuote.Of([.. HeadText.Bytes(source.Origin), .. source.Target])).Append(" --");
        foreach (var field in source.Fields)
        {
            if (TryWriteItem(field) is { } item)
            {
                line.Append(' ').Append(ShellQuote.Of(item));
            }
            else
            {
                notes.Add("HTTPie cannot send a field with such a value, which is left out: " + HeadText.Of(field.Name));
            }
        }

        // What HTTPie adds by itself was not in the request.
        Without(line, source, "Accept"u8);
        if (source.Body.Length > 0)
        {
            Without(line, source, "Content-Type"u8);
        }

        return line.ToString();
    }

    /// <summary>
    /// HTTPie codes signs that are not listed and each % that begins no %XX, writes the digits of others as capitals, decodes those of
    /// letters, digits and <c>-._~</c>, and leaves out a last question mark and a last semicolon of the path.
    /// </summary>
    [GeneratedRegex(
        @"^(?![^?]*;(\?|\z))([A-Za-z0-9\-._~!#$&'()*+,/:;=?@]|%(?!2[DE]|3[0-9]|[46][1-9A-F]|[57][0-9A]|5F|7E)[0-9A-F]{2})*(?<!\?)\z",
        RegexOptions.CultureInvariant)]
    private static partial Regex SentAsItIs();

    private static void Without(StringBuilder line, CopySource source, ReadOnlySpan<byte> name)
    {
        if (source.Fields.Find(name) is null)
        {
            line.Append(' ').Append(ShellQuote.Of([.. name, (byte)':']));
        }
    }

    /// <summary>An item of HTTPie, in which a sign after the name would give the value another meaning.</summary>
    private static byte[]? TryWriteItem(HeadField field)
    {
        if (field.Value.Length == 0)
        {
            return [.. field.Name, (byte)';'];
        }

        if (!Utf8.IsValid(field.Value))
        {
            return null;
        }

        // A backslash before one of HTTPie's own signs would be taken as its own.
        for (var i = 0; i + 1 < field.Value.Length; i++)
        {
            if (field.Value[i] == (byte)'\\' && field.Value[i + 1] is (byte)':' or (byte)'=' or (byte)'@' or (byte)';')
            {
                return null;
            }
        }

        return field.Value[0] is (byte)':' or (byte)'=' or (byte)'@' or (byte)';'
            ? [.. field.Name, (byte)':', (byte)'\\', .. field.Value]
            : [.. field.Name, (byte)':', .. field.Value];
    }
}
