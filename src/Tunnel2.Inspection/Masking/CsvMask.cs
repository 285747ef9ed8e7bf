using System.Text;

namespace Tunnel2.Inspection.Masking;

/// <summary>
/// Replaces the fields of columns with secret names in a table of text (RFC 4180, also with semicolons or tabs), whose first line has the
/// names. The text may be cut off. Pure.
/// </summary>
internal static class CsvMask
{
    private static readonly char[] _separators = [',', ';', '\t', '|'];

    /// <summary>Masks a table.</summary>
    /// <param name="text">The table.</param>
    /// <param name="rules">The names.</param>
    public static string Apply(string text, MaskingRules rules)
    {
        var lineEnd = text.AsSpan().IndexOfAny('\r', '\n');
        var head = lineEnd < 0 ? text : text[..lineEnd];
        var separator = _separators.MaxBy(sign => head.Count(other => other == sign));
        var secret = new HashSet<int>();
        var shown = new StringBuilder(text.Length);
        var (column, isHead) = (0, true);
        for (var position = 0; ;)
        {
            var end = EndOfField(text, position, separator);
            var field = text[position..end];
            if (isHead && rules.IsSecret(field.Trim().Trim('"')))
            {
                secret.Add(column);
            }

            shown.Append(!isHead && field.Length > 0 && secret.Contains(column) ? MaskingRules.Mask : field);
            if (end == text.Length)
            {
                return shown.ToString();
            }

            shown.Append(text[end]);
            (column, isHead) = text[end] == separator ? (column + 1, isHead) : (0, false);
            position = end + 1;
        }
    }

    /// <summary>The index of what ends a field. One in quotes may have separators and lines in it.</summary>
    private static int EndOfField(string text, int position, char separator)
    {
        while (position < text.Length && text[position] == '"')
        {
            var close = text.IndexOf('"', position + 1);
            position = close < 0 ? text.Length : close + 1;
        }

        var length = text.AsSpan(position).IndexOfAny(separator, '\r', '\n');
        return length < 0 ? text.Length : position + length;
    }
}
