using System.Globalization;
using System.Text;

namespace Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;

/// <summary>Reads the text format strictly: what a scraper would refuse fails the test.</summary>
internal sealed class PrometheusParser
{
    private string? _family;

    public Dictionary<string, double> Samples { get; } = [];

    public Dictionary<string, string> Types { get; } = [];

    public Dictionary<string, string> Help { get; } = [];

    public static PrometheusParser Parse(byte[] utf8)
    {
        var result = new PrometheusParser();
        var text = new UTF8Encoding(false, throwOnInvalidBytes: true).GetString(utf8);
        Assert.EndsWith("\n", text, StringComparison.Ordinal);
        foreach (var line in text[..^1].Split('\n'))
        {
            result.ParseLine(line);
        }

        return result;
    }

    private void ParseLine(string line)
    {
        if (line.StartsWith("# HELP ", StringComparison.Ordinal))
        {
            var parts = line.Split(' ', 4);
            Assert.True(Help.TryAdd(parts[2], parts[3]), "second HELP: " + line);
            return;
        }

        if (line.StartsWith("# TYPE ", StringComparison.Ordinal))
        {
            var parts = line.Split(' ');
            Assert.Equal(4, parts.Length);
            Assert.Contains(parts[3], new[] { "counter", "gauge", "histogram" });
            Assert.True(Types.TryAdd(parts[2], parts[3]), "second TYPE: " + line);
            _family = parts[2];
            return;
        }

        var name = TakeWhile(line, 0, c => char.IsAsciiLetterOrDigit(c) || c is '_' or ':');
        Assert.NotEmpty(name);
        var belongs = name == _family
            || (Types[_family!] == "histogram" && (name == _family + "_bucket" || name == _family + "_sum" || name == _family + "_count"));
        Assert.True(belongs, "sample outside its family: " + line);
        var position = name.Length;
        var labels = new List<string>();
        if (line[position] == '{')
        {
            position = ParseLabels(line, position + 1, labels);
        }

        Assert.Equal(' ', line[position]);
        var value = line[(position + 1)..] switch
        {
            "+Inf" => double.PositiveInfinity,
            "-Inf" => double.NegativeInfinity,
            "NaN" => double.NaN,
            var number => double.Parse(number, NumberStyles.Float, CultureInfo.InvariantCulture),
        };
        var key = labels.Count == 0 ? name : $"{name}{{{string.Join(",", labels.Order(StringComparer.Ordinal))}}}";
        Assert.True(Samples.TryAdd(key, value), "second sample: " + line);
    }

    private static int ParseLabels(string line, int position, List<string> labels)
    {
        while (true)
        {
            var name = TakeWhile(line, position, c => char.IsAsciiLetterOrDigit(c) || c == '_');
            Assert.NotEmpty(name);
            position += name.Length;
            Assert.Equal("=\"", line.Substring(position, 2));
            position += 2;
            var value = new StringBuilder();
            for (; line[position] != '"'; position++)
            {
                if (line[position] != '\\')
                {
                    value.Append(line[position]);
                    continue;
                }

                value.Append(line[++position] switch
                {
                    'n' => '\n',
                    '\\' => '\\',
                    '"' => '"',
                    var other => throw new FormatException("bad escape: " + other),
                });
            }

            labels.Add($"{name}={value}");
            position++;
            if (line[position++] == '}')
            {
                return position;
            }

            Assert.Equal(',', line[position - 1]);
        }
    }

    private static string TakeWhile(string text, int start, Func<char, bool> predicate)
    {
        var end = start;
        while (end < text.Length && predicate(text[end]))
        {
            end++;
        }

        return text[start..end];
    }
}
