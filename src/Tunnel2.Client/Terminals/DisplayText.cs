using System.Globalization;
using System.Text;

namespace Tunnel2.Client.Terminals;

/// <summary>
/// Text as a terminal shows it: how many columns it takes, and cut to a number of them. The text is clean already (no controls, no
/// formats): <see cref="Protocol.PlainText"/>. Pure.
/// </summary>
internal static class DisplayText
{
    /// <summary>Marks that may pile up on one character; more of them would paint over other rows.</summary>
    private const int MostMarks = 2;

    /// <summary>
    /// First and last of the ranges that take two columns: those of Unicode's East Asian Width with W or F, without the unassigned ones
    /// between that a terminal shows as one.
    /// </summary>
    private static readonly int[] _wide =
    [
        0x1100, 0x115F, 0x231A, 0x231B, 0x2329, 0x232A, 0x23E9, 0x23EC, 0x23F0, 0x23F0, 0x23F3, 0x23F3, 0x25FD, 0x25FE, 0x2614, 0x2615,
        0x2630, 0x2637, 0x2648, 0x2653, 0x267F, 0x267F, 0x268A, 0x268F, 0x2693, 0x2693, 0x26A1, 0x26A1, 0x26AA, 0x26AB, 0x26BD, 0x26BE,
        0x26C4, 0x26C5, 0x26CE, 0x26CE, 0x26D4, 0x26D4, 0x26EA, 0x26EA, 0x26F2, 0x26F3, 0x26F5, 0x26F5, 0x26FA, 0x26FA, 0x26FD, 0x26FD,
        0x2705, 0x2705, 0x270A, 0x270B, 0x2728, 0x2728, 0x274C, 0x274C, 0x274E, 0x274E, 0x2753, 0x2755, 0x2757, 0x2757, 0x2795, 0x2797,
        0x27B0, 0x27B0, 0x27BF, 0x27BF, 0x2B1B, 0x2B1C, 0x2B50, 0x2B50, 0x2B55, 0x2B55, 0x2E80, 0x303E, 0x3041, 0x33FF, 0x3400, 0xA4CF,
        0xA960, 0xA97F, 0xAC00, 0xD7A3, 0xF900, 0xFAFF, 0xFE10, 0xFE19, 0xFE30, 0xFE6F, 0xFF01, 0xFF60, 0xFFE0, 0xFFE6, 0x16FE0, 0x16FF6,
        0x17000, 0x18D1E, 0x1AFF0, 0x1B2FB, 0x1D300, 0x1D376, 0x1F004, 0x1F004, 0x1F0CF, 0x1F0CF, 0x1F18E, 0x1F18E, 0x1F191, 0x1F19A,
        0x1F200, 0x1F320, 0x1F32D, 0x1F335, 0x1F337, 0x1F37C, 0x1F37E, 0x1F393, 0x1F3A0, 0x1F3CA, 0x1F3CF, 0x1F3D3, 0x1F3E0, 0x1F3F0,
        0x1F3F4, 0x1F3F4, 0x1F3F8, 0x1F43E, 0x1F440, 0x1F440, 0x1F442, 0x1F4FC, 0x1F4FF, 0x1F53D, 0x1F54B, 0x1F54E, 0x1F550, 0x1F567,
        0x1F57A, 0x1F57A, 0x1F595, 0x1F596, 0x1F5A4, 0x1F5A4, 0x1F5FB, 0x1F64F, 0x1F680, 0x1F6C5, 0x1F6CC, 0x1F6CC, 0x1F6D0, 0x1F6D2,
        0x1F6D5, 0x1F6DF, 0x1F6EB, 0x1F6EC, 0x1F6F4, 0x1F6FC, 0x1F7E0, 0x1F7EB, 0x1F7F0, 0x1F7F0, 0x1F90C, 0x1F93A, 0x1F93C, 0x1F945,
        0x1F947, 0x1F9FF, 0x1FA70, 0x1FAFF, 0x20000, 0x2FFFD, 0x30000, 0x3FFFD,
    ];

    /// <summary>How many columns a character takes: 0 (it joins the one before), 1 or 2.</summary>
    public static int WidthOf(Rune rune)
    {
        int value = rune.Value;
        if (value < 0x300)
        {
            return 1;
        }

        if (Rune.GetUnicodeCategory(rune) is UnicodeCategory.NonSpacingMark or UnicodeCategory.EnclosingMark
            || value is (>= 0x1160 and <= 0x11FF) or (>= 0xD7B0 and <= 0xD7FF))
        {
            return 0;
        }

        int at = Array.BinarySearch(_wide, value);

        // Not found: the complement of the next larger one's place, which is odd inside a range.
        return at >= 0 || (~at & 1) == 1 ? 2 : 1;
    }

    /// <summary>How many columns a text takes.</summary>
    public static int WidthOf(string text)
    {
        int width = 0;
        foreach (Rune rune in text.EnumerateRunes())
        {
            width += WidthOf(rune);
        }

        return width;
    }

    /// <summary>
    /// The text in at most so many columns; one that is cut ends in <c>…</c>. Marks without a character before them, and more of them
    /// than a character can have, are left out.
    /// </summary>
    public static string Cut(string text, int columns)
    {
        if (text.Length <= columns && IsPlain(text))
        {
            return text;
        }

        var cut = new StringBuilder();
        int width = 0;
        int marks = MostMarks;

        // Where the sign of a cut fits, should one be needed.
        int lengthBeforeSign = 0;
        foreach (Rune rune in text.EnumerateRunes())
        {
            int more = WidthOf(rune);
            if (more == 0 && ++marks > MostMarks)
            {
                continue;
            }

            marks = more == 0 ? marks : 0;
            if (width + more > columns)
            {
                cut.Length = lengthBeforeSign;
                return columns == 0 ? "" : cut.Append('…').ToString();
            }

            cut.Append(rune.ToString());
            width += more;
            if (width < columns)
            {
                lengthBeforeSign = cut.Length;
            }
        }

        return cut.ToString();
    }

    /// <summary>The text in exactly so many columns.</summary>
    public static string Fit(string text, int columns, bool atRight = false)
    {
        string cut = Cut(text, columns);
        string room = new(' ', Math.Max(0, columns - WidthOf(cut)));
        return atRight ? room + cut : cut + room;
    }

    /// <summary>Every character takes one column.</summary>
    private static bool IsPlain(string text) => text.AsSpan().IndexOfAnyExceptInRange(' ', '~') < 0;
}
