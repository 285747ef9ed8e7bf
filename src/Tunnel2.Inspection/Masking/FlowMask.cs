using System.Text;

namespace Tunnel2.Inspection.Masking;

/// <summary>
/// Replaces the values of secret keys in maps of YAML that are written within a line, without quotes: <c>{user: a, password: b}</c>. A map
/// may continue in the lines after it. Keys in double quotes are those of JSON, which another one masks. Not thread-safe.
/// </summary>
internal sealed class FlowMask(MaskingRules rules)
{
    /// <summary>How many brackets are followed into each other. What is deeper is left as it is.</summary>
    private const int MostDepth = 32;

    private readonly List<Frame> _frames = [];
    private readonly List<(int Begin, int End)> _masked = [];

    /// <summary>Whether a text begins a map, or a list of maps.</summary>
    public static bool Begins(ReadOnlySpan<char> text)
    {
        text = text.TrimStart();
        return text is ['{', ..] || (text is ['[', ..] && text[1..].TrimStart() is ['{', ..]);
    }

    /// <summary>Whether a line is in a map that began before it.</summary>
    public bool IsOpen => _frames.Count > 0;

    /// <summary>Masks a line, or what is after the key of one.</summary>
    public string Next(string line)
    {
        _masked.Clear();
        for (var i = 0; i < _frames.Count; i++)
        {
            _frames[i] = _frames[i] with { Begin = 0, PendingEnd = -1 };
        }

        var isTokenBegin = true;
        for (var at = 0; at < line.Length; at++)
        {
            var sign = line[at];
            if (isTokenBegin && (sign is '"' or '\''))
            {
                at = EndOfQuote(line, at);
                isTokenBegin = false;
                continue;
            }

            if (sign is '{' or '[')
            {
                if (_frames.Count == MostDepth)
                {
                    break;
                }

                _frames.Add(new Frame { IsMap = sign == '{', Begin = at + 1, PendingEnd = -1 });
            }
            else if (sign is ',' or '}' or ']')
            {
                if (_frames.Count == 0)
                {
                    break;
                }

                EndPair(_frames.Count - 1, line, at);
                if (sign == ',')
                {
                    _frames[^1] = _frames[^1] with { Key = null, Begin = at + 1 };
                }
                else
                {
                    _frames.RemoveAt(_frames.Count - 1);
                    if (_frames.Count == 0)
                    {
                        break;
                    }
                }
            }
            else if (sign == ':' && _frames is [.., { IsMap: true, Key: null } frame])
            {
                _frames[^1] = frame with { Key = line[frame.Begin..at].Trim(), Begin = at + 1 };
            }

            isTokenBegin = sign is '{' or '[' or ',' or ':' || (isTokenBegin && sign == ' ');
        }

        for (var i = 0; i < _frames.Count; i++)
        {
            EndPair(i, line, line.Length);
        }

        return _masked.Count == 0 ? line : Shown(line);
    }

    private static int EndOfQuote(string line, int begin)
    {
        var end = begin + 1;
        while (end < line.Length && line[end] != line[begin])
        {
            end += line[end] == '\\' && line[begin] == '"' ? 2 : 1;
        }

        return end;
    }

    private static string Unquoted(string text) => text is ['\'', .., '\''] or ['"', .., '"'] ? text[1..^1] : text;

    private void EndPair(int index, string line, int end)
    {
        var frame = _frames[index];
        if (frame.Key is not { } key || key is ['"', ..])
        {
            return;
        }

        var text = line.AsSpan(frame.Begin, Math.Max(0, end - frame.Begin));
        var begin = frame.Begin + text.Length - text.TrimStart().Length;
        var value = text.Trim();
        if (value.IsEmpty)
        {
            return;
        }

        var name = Unquoted(key);
        if (rules.IsSecret(name) || (frame.IsSecret && PairNames.IsValue(name)))
        {
            _masked.Add((begin, begin + value.Length));
        }
        else if (PairNames.IsValue(name))
        {
            _frames[index] = frame with { PendingBegin = begin, PendingEnd = begin + value.Length };
        }
        else if (PairNames.IsName(name) && value.Length <= PairNames.Longest && PairNames.IsSecret(Unquoted(value.ToString()), rules))
        {
            _frames[index] = frame with { IsSecret = true };
            if (frame.PendingEnd >= 0)
            {
                _masked.Add((frame.PendingBegin, frame.PendingEnd));
            }
        }
    }

    private string Shown(string line)
    {
        var shown = new StringBuilder(line.Length);
        var position = 0;
        foreach (var (begin, end) in _masked.OrderBy(static range => range.Begin).ThenByDescending(static range => range.End))
        {
            if (begin >= position)
            {
                shown.Append(line, position, begin - position).Append(MaskingRules.Mask);
                position = end;
            }
        }

        return shown.Append(line, position, line.Length - position).ToString();
    }

    private record struct Frame
    {
        public bool IsMap { get; init; }

        /// <summary>Whether a name in it is that of a secret.</summary>
        public bool IsSecret { get; init; }

        /// <summary>The key whose value comes; null: a key comes.</summary>
        public string? Key { get; init; }

        /// <summary>Where the key or the value begins in this line.</summary>
        public int Begin { get; init; }

        public int PendingBegin { get; init; }

        /// <summary>The end of a value in this line whose name has not come; -1: there is none.</summary>
        public int PendingEnd { get; init; }
    }
}
