using System.Buffers;
using System.Globalization;
using System.Text;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Client.Live;

/// <summary>Decides which records are shown. Immutable; an empty filter shows all.</summary>
internal sealed record RecordFilter
{
    private static readonly SearchValues<char> _digitsAndDot = SearchValues.Create("0123456789.");

    private readonly List<(int From, int To)> _statuses = [];

    /// <summary>The session's name, or its beginning, from a value that ends in <c>*</c>; null for all.</summary>
    public byte[]? Name { get; init; }

    /// <summary>Whether <see cref="Name"/> is only the beginning of a name.</summary>
    public bool NameIsPrefix { get; init; }

    /// <summary>The shortest duration, µs.</summary>
    public uint MinMicroseconds { get; init; }

    /// <summary>Makes a filter from the values of flags.</summary>
    /// <param name="name">Such as <c>web</c> or <c>web-*</c>.</param>
    /// <param name="status">Such as <c>5xx</c>, <c>404</c>, <c>400-499</c> or several of them with commas; <c>0</c> for no status.</param>
    /// <param name="minDuration">Such as <c>200ms</c> or <c>1.5s</c>.</param>
    /// <param name="mistakes">Receives the mistakes in them.</param>
    public static RecordFilter Parse(string? name, string? status, string? minDuration, List<string> mistakes)
    {
        bool prefix = name?.EndsWith('*') == true;
        string text = prefix ? name![..^1] : name ?? "";
        if (text.Contains('*') || text.Any(static c => c is < ' ' or > '~'))
        {
            mistakes.Add("--name: give a name, or its beginning and '*'");
        }

        uint shortest = 0;
        if (minDuration is not null && !TryParseDuration(minDuration, out shortest))
        {
            mistakes.Add("--min-duration: give a number with a unit, such as 200ms, 1.5s or 500us");
        }

        var filter = new RecordFilter
        {
            Name = name is null ? null : Encoding.Latin1.GetBytes(text),
            NameIsPrefix = prefix,
            MinMicroseconds = shortest,
        };
        foreach (string part in status?.Split(',', StringSplitOptions.TrimEntries) ?? [])
        {
            if (TryParseStatus(part, out (int From, int To) range))
            {
                filter._statuses.Add(range);
            }
            else
            {
                mistakes.Add("--status: give a status, a class or a range, such as 404, 5xx or 400-499");
                break;
            }
        }

        return filter;
    }

    /// <summary>Whether a record is shown.</summary>
    public bool Wants(in RequestRecord record)
    {
        if (record.TotalMicroseconds < MinMicroseconds)
        {
            return false;
        }

        if (Name is not null && !(NameIsPrefix ? record.SessionName.StartsWith(Name) : record.SessionName.SequenceEqual(Name)))
        {
            return false;
        }

        if (_statuses.Count == 0)
        {
            return true;
        }

        foreach ((int from, int to) in _statuses)
        {
            if (record.Status >= from && record.Status <= to)
            {
                return true;
            }
        }

        return false;
    }

    private static bool TryParseStatus(string text, out (int From, int To) range)
    {
        range = default;
        if (text.Length == 3 && char.IsAsciiDigit(text[0]) && text.AsSpan(1).Equals("xx", StringComparison.OrdinalIgnoreCase))
        {
            // A status above 599 is a failure of the service, as in the metrics.
            range = ((text[0] - '0') * 100, text[0] == '5' ? 999 : ((text[0] - '0') * 100) + 99);
            return text[0] is >= '1' and <= '5';
        }

        string[] ends = text.Split('-');
        bool valid = ends.Length <= 2 && TryParseNumber(ends[0], out range.From) & TryParseNumber(ends[^1], out range.To);
        return valid && range.From <= range.To;
    }

    /// <summary>A status that a record may have: none (0), or three digits. Some services answer with a status above 599.</summary>
    private static bool TryParseNumber(string text, out int number) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out number) && number is 0 or (>= 100 and <= 999);

    private static bool TryParseDuration(string text, out uint microseconds)
    {
        microseconds = 0;
        int unitAt = text.AsSpan().IndexOfAnyExcept(_digitsAndDot);
        double factor = unitAt <= 0 ? 0 : text[unitAt..] switch
        {
            "us" or "µs" => 1,
            "ms" => 1e3,
            "s" => 1e6,
            "m" => 60e6,
            _ => 0,
        };
        if (factor == 0
            || !double.TryParse(text.AsSpan(0, unitAt), NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out double number)
            || number * factor > uint.MaxValue)
        {
            return false;
        }

        microseconds = (uint)(number * factor);
        return true;
    }
}
