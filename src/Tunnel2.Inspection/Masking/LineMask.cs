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
        var lines = new LineMask(rules);
        return string.Join('\n', text.Split('\n').Select(lines.Next));
    }

    private string Next(string line)
    {
        var end = line.EndsWith('\r') ? "\r" : "";
        line = line[..^end.Length];
        var begin = BeginOf(line, "data:") ?? "";
        var content = line[begin.Length..];
        var column = content.Length - content.AsSpan().TrimStart().Length;
        return ContinuesSecret(content, column) ? begin + content[..column] + MaskingRules.Mask + end : OfLine(line, begin) + end;
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

        if (name.Length == 0 || name.AsSpan().ContainsAny(' ', '"'))
        {
            return word + UrlMask.OfUrls(content, rules, level: 0);
        }

        if (!rules.IsSecret(name))
        {
            return word + (content[at] == '=' ? OfPairs(content) : UrlMask.OfUrls(content, rules, level: 0));
        }

        _quote = _quotes.FirstOrDefault(quote => value.StartsWith(quote, StringComparison.Ordinal));
        var isQuoted = _quote is not null;
        _quote = isQuoted && EndsQuote(value[_quote!.Length..], _quote) ? null : _quote;
        _isJoined = IsJoined(value);
        _column = word.Length - begin.Length + content.Length - content.AsSpan().TrimStart().Length;
        _takesItems = value.Length == 0;
        return word + (content[at] == ':' ? $"{content[..at]}: {MaskingRules.Mask}"
            : isQuoted ? $"{content[..at]}={MaskingRules.Mask}"
            : OfPairs(content));
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

    /// <summary>Whether a text ends with a backslash that is not itself after one.</summary>
    private static bool IsJoined(ReadOnlySpan<char> text) => (text.Length - text.TrimEnd('\\').Length) % 2 == 1;
}
