using System.Text;

namespace Tunnel2.Inspection.Masking;

/// <summary>
/// Replaces the values of secret names in lines of a name and a value: forms, settings, heads, YAML. A value may continue on the lines
/// after it, as blocks and lists of YAML, folded fields and texts in quotes do; each of these lines is a mask. Not thread-safe.
/// </summary>
internal sealed class LineMask(MaskingRules rules)
{
    /// <summary>What may be before the name in a line: of a stream of events, a list of YAML, a shell, a remark.</summary>
    private static readonly string[] _beforeLines = ["data:", "- ", "export ", "set ", "setx ", "# ", "; "];

    /// <summary>What begins and ends a value of several lines; the longer ones first.</summary>
    private static readonly string[] _quotes = ["\"\"\"", "'''", "\"", "'"];

    /// <summary>Maps that are followed into each other; the line and column of their values are kept.</summary>
    private const int MostMaps = 16;

    private readonly FlowMask _flow = new(rules);
    private readonly List<Map> _maps = [];

    /// <summary>The lines, where values are looked for whose names come after them.</summary>
    private string[] _lines = [];
    private string[] _shown = [];
    private int _index;

    /// <summary>Whether the next line is that of a secret value, with any name.</summary>
    private bool _isValueNext;

    /// <summary>The column of the secret name whose value may continue: further to the right is its value. -1: there is none.</summary>
    private int _column = -1;

    /// <summary>Whether the value was not in the name's line: then a list in the name's own column is its value.</summary>
    private bool _takesItems;

    /// <summary>Whether the line before ended with the sign that joins it to the next one.</summary>
    private bool _isJoined;

    /// <summary>What ends the value, which began with it; null: nothing does.</summary>
    private string? _quote;

    /// <summary>Masks a text.</summary>
    public static string Apply(string text, MaskingRules rules)
    {
        var lines = text.Split('\n');
        var mask = new LineMask(rules) { _lines = lines, _shown = new string[lines.Length] };
        for (; mask._index < lines.Length; mask._index++)
        {
            mask._shown[mask._index] = mask.Next(lines[mask._index]);
        }

        return string.Join('\n', mask._shown);
    }

    private string Next(string line)
    {
        var end = line.EndsWith('\r') ? "\r" : "";
        return Continued(line) ?? (OfLine(line[..^end.Length], BeginOf(line, "data:") ?? "") + end);
    }

    /// <summary>The mask of a line that is a part of the secret value that began before it; null: it is none.</summary>
    private string? Continued(string line)
    {
        var end = line.EndsWith('\r') ? "\r" : "";
        var begin = BeginOf(line, "data:") ?? "";
        var content = line[begin.Length..^end.Length];
        var column = content.Length - content.AsSpan().TrimStart().Length;
        return ContinuesSecret(content, column) ? begin + content[..column] + MaskingRules.Mask + end : null;
    }

    /// <summary>Whether a line is a part of the secret value that began before it.</summary>
    private bool ContinuesSecret(string content, int column)
    {
        if (_quote is not null)
        {
            _quote = EndsQuote(content, _quote) ? null : _quote;
            return true;
        }

        if (_isJoined)
        {
            _isJoined = IsJoined(content);
            return true;
        }

        if (_column < 0 || column == content.Length)
        {
            // An empty line is shown, and ends no block.
            return false;
        }

        if (column > _column || (_takesItems && column == _column && $"{content[column..]} ".StartsWith("- ", StringComparison.Ordinal)))
        {
            return true;
        }

        _column = -1;
        return false;
    }

    private string OfLine(string line, string begin)
    {
        var word = _beforeLines.Select(word => BeginOf(line, word)).FirstOrDefault(static word => word is not null) ?? "";
        var content = line[word.Length..];
        var at = content.AsSpan().IndexOfAny('=', ':');
        var name = at < 0 ? "" : content[..at].Trim();
        var value = at < 0 ? "" : content[(at + 1)..].Trim();
        if (name is ['\'', .., '\''] || (name is ['"', .., '"'] && value is ['|' or '>', ..]))
        {
            name = name[1..^1];
        }

        var flow = OfFlow(content, value);
        if (flow is not null)
        {
            return word + UrlMask.OfUrls(flow, rules, level: 0);
        }

        var column = word.Length - begin.Length + content.Length - content.AsSpan().TrimStart().Length;
        var isItem = word.AsSpan().TrimStart() is "- ";
        var isOfPair = IsSecretOfPair(at >= 0 && content[at] == ':' ? name : "", value, column, isItem);
        if (name.Length == 0 || name.AsSpan().ContainsAny(' ', '"'))
        {
            return word + UrlMask.OfUrls(content, rules, level: 0);
        }

        if (!isOfPair && !rules.IsSecret(name))
        {
            return word + (content[at] == '=' ? OfPairs(content) : UrlMask.OfUrls(content, rules, level: 0));
        }

        _quote = _quotes.FirstOrDefault(quote => value.StartsWith(quote, StringComparison.Ordinal));
        var isQuoted = _quote is not null;
        _quote = isQuoted && EndsQuote(value[_quote!.Length..], _quote) ? null : _quote;
        _isJoined = IsJoined(value);
        _column = column;
        _takesItems = value.Length == 0;
        return word + (content[at] == ':' ? $"{content[..at]}: {MaskingRules.Mask}"
            : isQuoted ? $"{content[..at]}={MaskingRules.Mask}"
            : OfPairs(content));
    }

    /// <summary>Masks a line of maps that are written within lines; null: it has no secret of one.</summary>
    private string? OfFlow(string content, string value)
    {
        if (!_flow.IsOpen && !FlowMask.Begins(content) && !FlowMask.Begins(value))
        {
            return null;
        }

        // The key before a map is read as the others are.
        var begin = _flow.IsOpen || FlowMask.Begins(content) ? 0 : content.IndexOfAny(['{', '[']);
        var masked = _flow.Next(content[begin..]);
        return content.AsSpan(begin).SequenceEqual(masked) ? null : content[..begin] + masked;
    }

    /// <summary>
    /// Follows the maps of a text, and says whether a line is the value of a secret that another line of its map names. Where the name
    /// comes after the value, the lines of the value are masked again.
    /// </summary>
    private bool IsSecretOfPair(string name, string value, int column, bool isItem)
    {
        if (_lines.Length == 0)
        {
            var isValue = _isValueNext;
            _isValueNext = false;
            return isValue;
        }

        while (_maps is [.., var last] && (last.Column > column || (isItem && last.Column == column)))
        {
            _maps.RemoveAt(_maps.Count - 1);
        }

        if (!PairNames.IsName(name) && !PairNames.IsValue(name))
        {
            return false;
        }

        if (_maps is not [.., var map] || map.Column < column)
        {
            if (_maps.Count == MostMaps)
            {
                return false;
            }

            map = new Map(column, IsSecret: false, ValueLine: -1);
            _maps.Add(map);
        }

        if (PairNames.IsValue(name))
        {
            _maps[^1] = map with { ValueLine = _index };
            return map.IsSecret;
        }

        if (!map.IsSecret && PairNames.IsSecret(Plain(value), rules))
        {
            _maps[^1] = map with { IsSecret = true };
            if (map.ValueLine >= 0)
            {
                MaskValue(map.ValueLine);
            }
        }

        return false;
    }

    /// <summary>Masks the lines of a value, from that of its key to where it ends.</summary>
    private void MaskValue(int line)
    {
        var value = new LineMask(rules) { _isValueNext = true };
        _shown[line] = value.Next(_lines[line]);
        while (++line < _index)
        {
            if (value.Continued(_lines[line]) is { } masked)
            {
                _shown[line] = masked;
            }
            else if (value._column < 0)
            {
                break;
            }
        }
    }

    /// <summary>The text of a value, without quotes and the remark after it.</summary>
    private static string Plain(string value)
    {
        var quote = value is ['"' or '\'', ..] ? value.IndexOf(value[0], 1) : -1;
        var remark = value.IndexOf(" #", StringComparison.Ordinal);
        return quote > 0 ? value[1..quote] : remark >= 0 ? value[..remark].TrimEnd() : value;
    }

    /// <summary>Masks pairs of a form. The line may be a setting instead, whose value has the sign that separates pairs.</summary>
    private string OfPairs(string line)
    {
        var shown = new StringBuilder(line.Length);
        var isSecret = false;
        foreach (var part in line.Split('&'))
        {
            if (isSecret && !part.Contains('=', StringComparison.Ordinal))
            {
                continue;
            }

            var pair = UrlMask.OfForm(part, rules, level: 0);
            isSecret = pair.EndsWith($"={MaskingRules.Mask}", StringComparison.Ordinal);
            shown.Append(shown.Length > 0 ? "&" : "").Append(pair);
        }

        return shown.ToString();
    }

    private static string? BeginOf(string line, string word) =>
        line.AsSpan().TrimStart().StartsWith(word, StringComparison.Ordinal)
            ? line[..(line.IndexOf(word, StringComparison.Ordinal) + word.Length)]
            : null;

    private static bool EndsQuote(string text, string quote)
    {
        for (var at = 0; (at = text.IndexOf(quote, at, StringComparison.Ordinal)) >= 0; at++)
        {
            if (quote[0] == '\'' || !IsJoined(text.AsSpan(0, at)))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>A map whose members have lines of their own: its column, whether it names a secret, and the line of its value.</summary>
    private readonly record struct Map(int Column, bool IsSecret, int ValueLine);

    /// <summary>Whether a text ends with a backslash that is not itself after one.</summary>
    private static bool IsJoined(ReadOnlySpan<char> text) => (text.Length - text.TrimEnd('\\').Length) % 2 == 1;
}
