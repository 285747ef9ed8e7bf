using System.Text;

namespace Tunnel2.Policies.Paths;

/// <summary>
/// A path of a policy: <c>*</c> matches any characters of one segment, and a segment <c>**</c> matches any number of segments. Immutable.
/// </summary>
internal sealed class PathPattern
{
    /// <summary>The longest pattern, in bytes.</summary>
    public const int MaxLength = 256;

    /// <summary>How many wildcards a pattern has at most.</summary>
    private const int MostWildcards = 4;

    private static readonly byte[] _any = "**"u8.ToArray();

    private readonly byte[][] _segments;
    private readonly byte[][] _lower;

    private PathPattern(string text, byte[][] segments)
    {
        Text = text;
        _segments = segments;
        _lower = [.. segments.Select(static segment => RequestPath.LowerOf(segment))];
    }

    /// <summary>The pattern, without a slash at its end.</summary>
    public string Text { get; }

    /// <summary>Reads a pattern.</summary>
    /// <param name="text">Such as <c>/admin/**</c>.</param>
    /// <param name="pattern">The pattern, when it is one.</param>
    /// <returns>What is wrong with it, as the end of a sentence; null: nothing.</returns>
    public static string? TryParse(string text, out PathPattern? pattern)
    {
        pattern = null;
        if (!text.StartsWith('/'))
        {
            return "does not begin with a slash";
        }

        if (Encoding.UTF8.GetByteCount(text) > MaxLength)
        {
            return FormattableString.Invariant($"is longer than {MaxLength} bytes");
        }

        if (text.AsSpan().IndexOfAny('?', '#') >= 0)
        {
            return "has a '?' or '#': only the path is compared, not the query";
        }

        if (text.AsSpan().IndexOfAny('%', '\\', ';') >= 0 || text.Any(char.IsControl))
        {
            return "has a '%', ';' or backslash: write the characters as they are, paths of requests are decoded";
        }

        var whole = text.Length > 1 && text.EndsWith('/') ? text[..^1] : text;
        var segments = whole.Length == 1 ? [] : whole[1..].Split('/');
        if (segments.Any(static segment => segment is "" or "." or ".."))
        {
            return "has an empty segment, '.' or '..'";
        }

        if (segments.Any(static segment => segment.Contains("**", StringComparison.Ordinal) && segment != "**"))
        {
            return "has '**' beside other characters; it must be alone between slashes";
        }

        if (segments.Sum(static segment => segment == "**" ? 1 : segment.Count(static c => c == '*')) > MostWildcards)
        {
            return FormattableString.Invariant($"has more than {MostWildcards} wildcards");
        }

        pattern = new PathPattern(whole, [.. segments.Select(Encoding.UTF8.GetBytes)]);
        return null;
    }

    /// <summary>Whether a path matches in one of its readings, in any case; one that is too long to be read does.</summary>
    public bool MatchesAny(RequestPath path)
    {
        for (var i = 0; i < path.Count; i++)
        {
            if (Matches(_segments, path[i], ignoresCase: true))
            {
                return true;
            }
        }

        for (var i = 0; i < path.Lower.Count; i++)
        {
            if (Matches(_lower, path.Lower[i], ignoresCase: false))
            {
                return true;
            }
        }

        return path.IsTooLong;
    }

    /// <summary>Whether a path matches in a reading, in the case in which the pattern is written.</summary>
    public bool Matches(ReadOnlySpan<byte> path) => Matches(_segments, path, ignoresCase: false);

    /// <summary>Whether each path that the other matches is matched by this one too. It says no where that is not plain.</summary>
    public bool Covers(PathPattern other)
    {
        if (Text == other.Text)
        {
            return true;
        }

        if (_segments.Length == 0 || !IsAny(_segments[^1]) || _segments.AsSpan()[..^1].ContainsAnyWildcard())
        {
            return false;
        }

        var before = _segments.Length - 1;
        if (other._segments.Length < before)
        {
            return false;
        }

        for (var i = 0; i < before; i++)
        {
            if (!_segments[i].AsSpan().SequenceEqual(other._segments[i]))
            {
                return false;
            }
        }

        return true;
    }

    /// <inheritdoc/>
    public override string ToString() => Text;

    private static bool IsAny(byte[] segment) => segment.AsSpan().SequenceEqual(_any);

    private static bool Matches(byte[][] segments, ReadOnlySpan<byte> path, bool ignoresCase)
    {
        // Greedy, with one position to return to: after a mismatch the latest ** takes one segment more.
        var length = path.Length == 1 ? 0 : path.Length;
        var (p, n, wildcard, resume) = (0, 1, -1, 0);
        while (n <= length)
        {
            var end = EndOf(path, n);
            if (p < segments.Length && IsAny(segments[p]))
            {
                (wildcard, resume) = (p++, n);
            }
            else if (p < segments.Length && SegmentPattern.Matches(segments[p], path[n..end], ignoresCase))
            {
                p++;
                n = end + 1;
            }
            else if (wildcard >= 0)
            {
                resume = EndOf(path, resume) + 1;
                (p, n) = (wildcard + 1, resume);
            }
            else
            {
                return false;
            }
        }

        while (p < segments.Length && IsAny(segments[p]))
        {
            p++;
        }

        return p == segments.Length;
    }

    private static int EndOf(ReadOnlySpan<byte> path, int start)
    {
        var end = path[start..].IndexOf((byte)'/');
        return end < 0 ? path.Length : start + end;
    }
}
