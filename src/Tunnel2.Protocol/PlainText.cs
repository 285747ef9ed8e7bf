using System.Buffers;
using System.Globalization;
using System.Text;

namespace Tunnel2.Protocol;

/// <summary>
/// Makes text of a peer safe to show: it cannot steer a terminal, end a line of a log, or be displayed in another direction than it is
/// read. Text is cleaned where it enters, so that all later code can use it. Pure.
/// </summary>
internal static class PlainText
{
    /// <summary>How many characters of a peer's text are kept at most: the number of bytes in the largest GOAWAY.</summary>
    public const int MaxLength = ProtocolLimits.MaxGoAwayLength;

    private const char Replacement = '?';

    private static readonly SearchValues<char> _harmless = SearchValues.Create(
        [.. Enumerable.Range(' ', '~' - ' ' + 1).Select(static code => (char)code)]);

    /// <summary>Reads a peer's UTF-8.</summary>
    /// <param name="utf8">The bytes; invalid UTF-8 is replaced.</param>
    public static string Read(ReadOnlySpan<byte> utf8) => Clean(Encoding.UTF8.GetString(utf8));

    /// <summary>
    /// Replaces characters that are not visible by themselves with <c>?</c>: controls (C0, DEL, C1), formats (directions, zero width,
    /// tags), separators of lines and paragraphs, fillers, and single surrogates.
    /// </summary>
    /// <param name="text">The text.</param>
    /// <param name="maxLength">How many characters are kept; a longer text is cut and ends in <c>…</c>.</param>
    public static string Clean(string text, int maxLength = MaxLength)
    {
        if (text.Length <= maxLength && !text.AsSpan().ContainsAnyExcept(_harmless))
        {
            return text;
        }

        var kept = text.AsSpan(0, Math.Min(text.Length, maxLength));
        var clean = new StringBuilder(kept.Length + 1);
        foreach (var rune in kept.EnumerateRunes())
        {
            // A single surrogate, and invalid UTF-8, appear as the replacement character.
            clean.Append(IsShown(rune) ? rune.ToString() : Replacement.ToString());
        }

        return kept.Length < text.Length ? clean.Append('…').ToString() : clean.ToString();
    }

    private static bool IsShown(Rune rune) =>
        Rune.GetUnicodeCategory(rune) is not (
            UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator
            or UnicodeCategory.Surrogate)
        && rune.Value is not (0x034F or 0x115F or 0x1160 or 0x17B4 or 0x17B5 or 0x2800 or 0x3164 or 0xFFA0 or (>= 0xE0000 and <= 0xE0FFF));
}
