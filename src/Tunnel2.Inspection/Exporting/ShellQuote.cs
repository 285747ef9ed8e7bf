using System.Globalization;
using System.Text;

namespace Tunnel2.Inspection.Exporting;

/// <summary>
/// Quotes bytes for bash and zsh so that a pasted line does only what it says. Plain text is in single quotes. All other text is in
/// <c>$'…'</c> with each special byte in hexadecimal: it has no quote and no backslash except before <c>x</c>, so that a shell that
/// does not know this form takes it for a quoted text too, and runs nothing.
/// </summary>
internal static class ShellQuote
{
    /// <summary>Quotes bytes.</summary>
    /// <param name="bytes">The bytes; a zero cannot be an argument, and is left out.</param>
    public static string Of(ReadOnlySpan<byte> bytes)
    {
        var isPlain = true;
        foreach (var one in bytes)
        {
            isPlain &= IsPlain(one);
        }

        var quoted = new StringBuilder(bytes.Length + 3).Append(isPlain ? "'" : "$'");
        for (var i = 0; i < bytes.Length; i++)
        {
            if (IsPlain(bytes[i]))
            {
                quoted.Append((char)bytes[i]);
            }
            else if (bytes[i] != 0)
            {
                quoted.Append("\\x").Append(bytes[i].ToString("x2", CultureInfo.InvariantCulture));
            }
        }

        return quoted.Append('\'').ToString();
    }

    /// <summary>Quotes a text.</summary>
    public static string OfText(string text) => Of(Encoding.UTF8.GetBytes(text));

    /// <summary>Visible ASCII without what some shell reads in single quotes: the quote, the backslash (fish), the history sign.</summary>
    private static bool IsPlain(byte one) => one is >= (byte)' ' and <= (byte)'~' and not ((byte)'\'' or (byte)'\\' or (byte)'!');
}
