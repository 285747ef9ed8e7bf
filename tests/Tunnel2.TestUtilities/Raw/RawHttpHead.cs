using System.Globalization;

namespace Tunnel2.TestUtilities;

/// <summary>The head of an HTTP/1.1 message as it was received, read without any repair.</summary>
public sealed class RawHttpHead
{
    /// <param name="text">The head with its line ends, up to and including the empty line, as Latin-1.</param>
    public RawHttpHead(string text)
    {
        Text = text;
        var lines = text.Split("\r\n");
        StartLine = lines[0];
        Fields = [.. lines.Skip(1).Where(line => line.Length > 0).Select(ParseField)];
    }

    /// <summary>The whole head.</summary>
    public string Text { get; }

    /// <summary>The first line.</summary>
    public string StartLine { get; }

    /// <summary>
    /// Names as they were spelled and values without surrounding white space, in order; a line without a colon has no value.
    /// </summary>
    public IReadOnlyList<KeyValuePair<string, string>> Fields { get; }

    /// <summary>The status of a response.</summary>
    /// <exception cref="FormatException">The first line is no status line.</exception>
    public int StatusCode =>
        StartLine.StartsWith("HTTP/1.", StringComparison.Ordinal) && StartLine.Length >= 12
            ? int.Parse(StartLine.AsSpan(9, 3), NumberStyles.None, CultureInfo.InvariantCulture)
            : throw new FormatException($"'{StartLine}' is no status line.");

    /// <summary>The method of a request.</summary>
    public string Method => StartLine.Split(' ')[0];

    /// <summary>The target of a request.</summary>
    public string Target => StartLine.Split(' ') is [_, var target, ..] ? target : "";

    /// <summary>The first value of the field called <paramref name="name"/> (in any case), or null.</summary>
    public string? this[string name] => All(name).FirstOrDefault();

    /// <summary>All values of the field called <paramref name="name"/> (in any case), in order.</summary>
    public IEnumerable<string> All(string name) =>
        Fields.Where(field => field.Key.Equals(name, StringComparison.OrdinalIgnoreCase)).Select(field => field.Value);

    /// <inheritdoc/>
    public override string ToString() => Text;

    internal static KeyValuePair<string, string> ParseField(string line)
    {
        var colon = line.IndexOf(':', StringComparison.Ordinal);
        return colon < 0 ? new(line, "") : new(line[..colon], line[(colon + 1)..].Trim(' ', '\t'));
    }
}
