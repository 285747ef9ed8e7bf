using System.Buffers;
using System.Globalization;
using System.Text;

namespace Tunnel2.Protocol;

/// <summary>
/// Makes text that came from somebody else safe to show: nothing of it steers a terminal, ends a line of a log or is written in another
/// direction than it is read. Text is cleaned where it enters, so that nobody further on has to think of it. Pure.
/// </summary>
internal static class PlainText
{
    /// <summary>The most characters of a peer's words that are kept: as many as a GOAWAY has bytes.</summary>
    public const int MaxLength = ProtocolLimits.MaxGoAwayLength;

    private const char Stand = '?';

    private static readonly SearchValues<char> _harmless = SearchValues.Create(
        [.. Enumerable.Range(' ', '~' - ' ' + 1).Select(static code => (char)code)]);

    /// <summary>Reads UTF-8, as a peer sent it.</summary>
    /// <param name="utf8">The bytes; what is no UTF-8 is replaced.</param>
    public static string Read(ReadOnlySpan<byte> utf8) => Clean(Encoding.UTF8.GetString(utf8));

    /// <summary>
    /// Replaces with <c>?</c> what is not seen as a character of its own: controls (C0, DEL, C1), formats (directions, zero width, tags),
    /// the separators of lines and paragraphs, fillers, and surrogates that stand alone.
    /// </summary>
    /// <param name="text">The text.</param>
    /// <param name="maxLength">Characters that are kept; a longer text is cut and ends in <c>…</c>.</param>
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
            // A surrogate that stands alone, and what was no UTF-8, comes as the replacement character.
            clean.Append(IsShown(rune) ? rune.ToString() : Stand.ToString());
        }

        return kept.Length < text.Length ? clean.Append('…').ToString() : clean.ToString();
    }

    private static bool IsShown(Rune rune) =>
        Rune.GetUnicodeCategory(rune) is not (
            UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator
            or UnicodeCategory.Surrogate)
        && rune.Value is not (0x034F or 0x115F or 0x1160 or 0x17B4 or 0x17B5 or 0x2800 or 0x3164 or 0xFFA0 or (>= 0xE0000 and <= 0xE0FFF));
}
