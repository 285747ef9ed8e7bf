using System.Globalization;

namespace Tunnel2.Protocol;

/// <summary>Reads when something ends, as the commands of both programs take it. Pure.</summary>
internal static class MomentText
{
    /// <summary>The forms that are taken, for messages.</summary>
    public const string Forms = "90m, 12h, 30d, 2030-01-31 or 2030-01-31T12:00Z";

    private const int MostUnits = 1_000_000;

    /// <summary>A moment: a date, a date and a time, or a time from now such as <c>90m</c>, <c>12h</c>, <c>30d</c>.</summary>
    /// <param name="text">The text.</param>
    /// <param name="now">The time now.</param>
    /// <returns>Null where it is none of these, or no time from now.</returns>
    public static DateTimeOffset? Parse(string text, DateTimeOffset now)
    {
        if (text.Length > 1
            && int.TryParse(text.AsSpan(0, text.Length - 1), NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            && number <= MostUnits)
        {
            var length = text[^1] switch
            {
                'm' => TimeSpan.FromMinutes(number),
                'h' => TimeSpan.FromHours(number),
                'd' => TimeSpan.FromDays(number),
                _ => (TimeSpan?)null,
            };
            if (length is { } given)
            {
                return given > TimeSpan.Zero && given < DateTimeOffset.MaxValue - now ? now + given : null;
            }
        }

        return DateTimeOffset.TryParseExact(
            text, ["yyyy-MM-dd", "yyyy-MM-ddTHH:mmK", "yyyy-MM-ddTHH:mm:ssK"], CultureInfo.InvariantCulture,
            DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal, out var moment) ? moment : null;
    }
}
