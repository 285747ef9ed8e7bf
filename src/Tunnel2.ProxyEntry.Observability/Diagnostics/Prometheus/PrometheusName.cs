using System.Text;

namespace Tunnel2.ProxyEntry.Diagnostics.Prometheus;

/// <summary>
/// Converts OpenTelemetry's metric and attribute names to Prometheus', by the rules of OpenTelemetry's compatibility specification:
/// other characters become underscores, the unit and <c>_total</c> are appended.
/// </summary>
internal static class PrometheusName
{
    /// <summary>The name of a family.</summary>
    /// <param name="name">The instrument's name, such as <c>tunnel2.request.duration</c>.</param>
    /// <param name="unit">Its UCUM unit, such as <c>s</c>, <c>By</c> or <c>{request}</c>; may be null.</param>
    /// <param name="type">Counters end in <c>_total</c>; gauges of unit 1 in <c>_ratio</c>.</param>
    public static string ForMetric(string name, string? unit, PrometheusType type)
    {
        var result = Sanitize(name, allowColon: true);
        if (type == PrometheusType.Counter && result.EndsWith("_total", StringComparison.Ordinal))
        {
            result = result[..^"_total".Length];
        }

        var suffix = ConvertUnit(unit, type);
        if (suffix.Length > 0 && result != suffix && !result.EndsWith("_" + suffix, StringComparison.Ordinal))
        {
            result += "_" + suffix;
        }

        return type == PrometheusType.Counter ? result + "_total" : result;
    }

    /// <summary>The name of a label.</summary>
    public static string ForLabel(string name) => Sanitize(name, allowColon: false);

    private static string ConvertUnit(string? unit, PrometheusType type)
    {
        if (string.IsNullOrWhiteSpace(unit))
        {
            return "";
        }

        if (unit == "1")
        {
            return type == PrometheusType.Gauge ? "ratio" : "";
        }

        var slash = unit.IndexOf('/');
        var numerator = ConvertSimpleUnit(slash < 0 ? unit : unit[..slash]);
        if (slash < 0)
        {
            return numerator;
        }

        var denominator = unit[(slash + 1)..] switch
        {
            "s" => "second",
            "m" or "min" => "minute",
            "h" => "hour",
            "d" => "day",
            var other => ConvertSimpleUnit(other),
        };
        return denominator.Length == 0 ? numerator : numerator.Length == 0 ? "per_" + denominator : $"{numerator}_per_{denominator}";
    }

    private static string ConvertSimpleUnit(string unit) => unit switch
    {
        "d" => "days",
        "h" => "hours",
        "min" => "minutes",
        "s" => "seconds",
        "ms" => "milliseconds",
        "us" => "microseconds",
        "ns" => "nanoseconds",
        "By" => "bytes",
        "KiBy" => "kibibytes",
        "MiBy" => "mebibytes",
        "GiBy" => "gibibytes",
        "kBy" => "kilobytes",
        "MBy" => "megabytes",
        "GBy" => "gigabytes",
        "Hz" => "hertz",
        "%" => "percent",
        "Cel" => "celsius",
        _ when unit.StartsWith('{') => "", // an annotation says what is counted and is no unit
        _ => Sanitize(unit, allowColon: false).Trim('_'),
    };

    private static string Sanitize(string name, bool allowColon)
    {
        var result = new StringBuilder(name.Length + 1);
        foreach (var c in name)
        {
            if (char.IsAsciiDigit(c) && result.Length == 0)
            {
                result.Append('_');
            }

            if (char.IsAsciiLetterOrDigit(c) || (allowColon && c == ':'))
            {
                result.Append(c);
            }
            else if (result.Length == 0 || result[^1] != '_')
            {
                result.Append('_');
            }
        }

        return result.Length == 0 ? "_" : result.ToString();
    }
}
