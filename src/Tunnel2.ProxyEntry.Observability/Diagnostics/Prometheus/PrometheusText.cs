using System.Globalization;
using System.Text;

namespace Tunnel2.ProxyEntry.Diagnostics.Prometheus;

/// <summary>
/// Writes Prometheus' text format, version 0.0.4. Not thread-safe: one instance per answer.
/// </summary>
internal sealed class PrometheusText
{
    /// <summary>The media type of the format.</summary>
    public const string ContentType = "text/plain; version=0.0.4; charset=utf-8";

    private readonly StringBuilder _text = new(16 * 1024);

    /// <summary>Begins a family; its samples must follow at once, and no other family may have this name.</summary>
    public void WriteFamily(string name, PrometheusType type, string? help)
    {
        if (!string.IsNullOrEmpty(help))
        {
            _text.Append("# HELP ").Append(name).Append(' ');
            AppendEscaped(_text, help, escapeQuotes: false);
            _text.Append('\n');
        }

        _text.Append("# TYPE ").Append(name).Append(' ').Append(type switch
        {
            PrometheusType.Counter => "counter",
            PrometheusType.Gauge => "gauge",
            _ => "histogram",
        }).Append('\n');
    }

    /// <summary>Writes one sample.</summary>
    /// <param name="name">The family's name, with a suffix for the parts of a histogram.</param>
    /// <param name="labels">As made by <see cref="RenderLabels"/>; may be empty.</param>
    /// <param name="value">The value.</param>
    public void WriteSample(string name, string labels, double value)
    {
        _text.Append(name);
        if (labels.Length > 0)
        {
            _text.Append('{').Append(labels).Append('}');
        }

        _text.Append(' ').Append(FormatNumber(value)).Append('\n');
    }

    /// <summary>Writes a family with one sample.</summary>
    public void WriteSingle(string name, PrometheusType type, string help, double value, string labels = "")
    {
        WriteFamily(name, type, help);
        WriteSample(name, labels, value);
    }

    /// <summary>Writes buckets, sum and count of one histogram.</summary>
    public void WriteHistogram(string name, string labels, double[] bounds, HistogramCell cell)
    {
        // The count is the sum of the written buckets, because it must agree with them while other threads record.
        long count = 0;
        var prefix = labels.Length == 0 ? "" : labels + ",";
        for (var i = 0; i <= bounds.Length; i++)
        {
            count += cell.GetCount(i);
            var bound = i == bounds.Length ? "+Inf" : FormatNumber(bounds[i]);
            WriteSample(name + "_bucket", $"{prefix}le=\"{bound}\"", count);
        }

        WriteSample(name + "_sum", labels, cell.Sum);
        WriteSample(name + "_count", labels, count);
    }

    /// <summary>The whole text, in UTF-8.</summary>
    public byte[] ToUtf8() => Encoding.UTF8.GetBytes(_text.ToString());

    /// <summary>The labels of a tag set, sorted by name; values of names that become equal are joined by a semicolon.</summary>
    public static string RenderLabels(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        var labels = new SortedDictionary<string, string>(StringComparer.Ordinal);
        foreach (var (key, value) in tags)
        {
            var name = PrometheusName.ForLabel(key);
            var text = FormatTag(value);
            labels[name] = labels.TryGetValue(name, out var present) ? present + ";" + text : text;
        }

        var result = new StringBuilder();
        foreach (var (name, value) in labels)
        {
            if (result.Length > 0)
            {
                result.Append(',');
            }

            result.Append(name).Append("=\"");
            AppendEscaped(result, value, escapeQuotes: true);
            result.Append('"');
        }

        return result.ToString();
    }

    private static string FormatTag(object? value) => value switch
    {
        null => "",
        string text => text,
        bool flag => flag ? "true" : "false",
        IFormattable number => number.ToString(null, CultureInfo.InvariantCulture),
        _ => value.ToString() ?? "",
    };

    private static string FormatNumber(double value) => value switch
    {
        double.PositiveInfinity => "+Inf",
        double.NegativeInfinity => "-Inf",
        double.NaN => "NaN",
        _ => value.ToString("R", CultureInfo.InvariantCulture),
    };

    private static void AppendEscaped(StringBuilder target, string value, bool escapeQuotes)
    {
        foreach (var c in value)
        {
            _ = c switch
            {
                '\\' => target.Append("\\\\"),
                '\n' => target.Append("\\n"),
                '"' when escapeQuotes => target.Append("\\\""),
                _ => target.Append(c),
            };
        }
    }
}
