using System.Globalization;

namespace Tunnel2.Client.Core.Files;

/// <summary>The conditional and range fields of a request for a file (RFC 9110, 13 and 14). Immutable.</summary>
internal sealed record FileConditions
{
    public string? IfMatch { get; init; }

    public string? IfNoneMatch { get; init; }

    public string? IfModifiedSince { get; init; }

    public string? IfUnmodifiedSince { get; init; }

    public string? IfRange { get; init; }

    public string? Range { get; init; }

    /// <summary>Decides what is answered.</summary>
    /// <param name="tag">The file's entity tag.</param>
    /// <param name="modified">When it was written, in whole seconds.</param>
    /// <param name="length">Its length.</param>
    /// <param name="isHead">Whether only the head is wanted; then ranges do not count.</param>
    /// <returns>200, 206, 304, 412 or 416, and the part of the file.</returns>
    public (int Status, long Offset, long Count) Decide(string tag, DateTime modified, long length, bool isHead)
    {
        if (IfMatch is not null ? !Matches(IfMatch, tag, isWeak: false) : modified > (Date(IfUnmodifiedSince) ?? DateTime.MaxValue))
        {
            return (412, 0, 0);
        }

        if (IfNoneMatch is not null ? Matches(IfNoneMatch, tag, isWeak: true) : modified <= (Date(IfModifiedSince) ?? DateTime.MinValue))
        {
            return (304, 0, 0);
        }

        return isHead || Range is null || (IfRange is not null && !(IfRange.Trim() == tag || Date(IfRange) == modified))
            ? (200, 0, length)
            : DecideRange(Range.Trim(), length);
    }

    /// <summary>One range. Several, and units that are not known, are answered with the whole file, as a server may do.</summary>
    private static (int Status, long Offset, long Count) DecideRange(string range, long length)
    {
        const string Unit = "bytes=";
        if (!range.StartsWith(Unit, StringComparison.OrdinalIgnoreCase) || range.Contains(',', StringComparison.Ordinal)
            || range[Unit.Length..].Split('-') is not [var firstText, var lastText])
        {
            return (200, 0, length);
        }

        long? first = Number(firstText);
        long? last = Number(lastText);
        if ((first is null && firstText.Trim().Length > 0) || (last is null && lastText.Trim().Length > 0)
            || (first is null && last is null) || first > last)
        {
            return (200, 0, length);
        }

        if (first is null)
        {
            long count = Math.Min(last!.Value, length);
            return count == 0 ? (416, 0, 0) : (206, length - count, count);
        }

        return first >= length ? (416, 0, 0) : (206, first.Value, Math.Min(last ?? long.MaxValue - 1, length - 1) - first.Value + 1);
    }

    private static long? Number(string text) =>
        long.TryParse(text.Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out long number) && number < long.MaxValue - 1
            ? number
            : null;

    private static bool Matches(string list, string tag, bool isWeak) => list.Split(',').Select(static one => one.Trim()).Any(one =>
        one == "*" || one == tag || (isWeak && one.StartsWith("W/", StringComparison.Ordinal) && one[2..] == tag));

    private static DateTime? Date(string? text)
    {
        const DateTimeStyles Utc = DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal;
        return DateTime.TryParseExact(text?.Trim(), "R", CultureInfo.InvariantCulture, Utc, out DateTime date) ? date : null;
    }
}
