namespace Tunnel2.Inspection.Comparing;

/// <summary>A line of a comparison.</summary>
/// <param name="Sign"><c>' '</c> in both, <c>'-'</c> in the first only, <c>'+'</c> in the second only.</param>
/// <param name="Text">The line.</param>
internal readonly record struct ComparedLine(char Sign, string Text);

/// <summary>Compares texts line by line, with a limit of lines: the cost grows with their product.</summary>
internal static class LineDifference
{
    /// <summary>How many lines of each text are compared, after those that both begin and end with.</summary>
    public const int MaxLines = 1000;

    /// <summary>Compares.</summary>
    /// <param name="first">The first text.</param>
    /// <param name="second">The second text.</param>
    /// <returns>The lines, or null where there are too many that differ.</returns>
    public static IReadOnlyList<ComparedLine>? Of(string first, string second)
    {
        var (a, b) = (first.Split('\n'), second.Split('\n'));
        var start = 0;
        while (start < a.Length && start < b.Length && a[start] == b[start])
        {
            start++;
        }

        var end = 0;
        while (end < a.Length - start && end < b.Length - start && a[^(end + 1)] == b[^(end + 1)])
        {
            end++;
        }

        var (rows, columns) = (a.Length - start - end, b.Length - start - end);
        if (rows > MaxLines || columns > MaxLines)
        {
            return null;
        }

        var lines = new List<ComparedLine>(a.Length + b.Length);
        lines.AddRange(a[..start].Select(static line => new ComparedLine(' ', line)));
        AddMiddle(lines, a.AsSpan(start, rows), b.AsSpan(start, columns));
        lines.AddRange(a[^end..].Select(static line => new ComparedLine(' ', line)));
        return lines;
    }

    private static void AddMiddle(List<ComparedLine> lines, ReadOnlySpan<string> a, ReadOnlySpan<string> b)
    {
        // common[i, j]: how many lines the rests after i and j have in common.
        var common = new ushort[a.Length + 1, b.Length + 1];
        for (var i = a.Length - 1; i >= 0; i--)
        {
            for (var j = b.Length - 1; j >= 0; j--)
            {
                common[i, j] = a[i] == b[j] ? (ushort)(common[i + 1, j + 1] + 1) : Math.Max(common[i + 1, j], common[i, j + 1]);
            }
        }

        var (x, y) = (0, 0);
        while (x < a.Length || y < b.Length)
        {
            if (x < a.Length && y < b.Length && a[x] == b[y])
            {
                lines.Add(new ComparedLine(' ', a[x++]));
                y++;
            }
            else if (y >= b.Length || (x < a.Length && common[x + 1, y] >= common[x, y + 1]))
            {
                lines.Add(new ComparedLine('-', a[x++]));
            }
            else
            {
                lines.Add(new ComparedLine('+', b[y++]));
            }
        }
    }
}
