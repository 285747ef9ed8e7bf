using System.Buffers;

namespace Tunnel2.Inspection.Masking;

/// <summary>
/// Which value belongs to which name, where the two are members of one object. A name may come after its value: then the value is already
/// written, and is replaced at the end. It reads brackets and commas between texts, so it knows objects in what is no JSON too, or is cut
/// off; objects deeper than it follows are left as they are. Not thread-safe.
/// </summary>
internal sealed class JsonPairs
{
    /// <summary>How many brackets are followed into each other.</summary>
    private const int MostDepth = 256;

    private static readonly SearchValues<byte> _signs = SearchValues.Create("{}[],"u8);

    private readonly List<Frame> _frames = [];
    private readonly List<(int Begin, int End)> _masked = [];
    private int _tooDeep;

    /// <summary>Reads what is between two texts.</summary>
    /// <param name="text">It.</param>
    /// <param name="position">Where it is in the output.</param>
    public void Between(ReadOnlySpan<byte> text, int position)
    {
        for (var at = 0; text[at..].IndexOfAny(_signs) is >= 0 and var next; at++)
        {
            at += next;
            switch (text[at])
            {
                case (byte)'{' or (byte)'[' when _frames.Count == MostDepth:
                    _tooDeep++;
                    break;
                case (byte)'{' or (byte)'[':
                    _frames.Add(new Frame { IsObject = text[at] == (byte)'{', ValueBegin = -1, ValueEnd = -1 });
                    break;
                case (byte)',':
                    EndValue(position + at);
                    break;
                default:
                    if (_tooDeep > 0)
                    {
                        _tooDeep--;
                    }
                    else if (_frames.Count > 0)
                    {
                        EndValue(position + at);
                        _frames.RemoveAt(_frames.Count - 1);
                    }

                    break;
            }
        }
    }

    /// <summary>Reads a key.</summary>
    /// <param name="key">It.</param>
    /// <param name="name">The text that is its value, or null where that is none.</param>
    /// <param name="position">Where its value will be in the output.</param>
    /// <param name="rules">The names.</param>
    /// <returns>Whether its value is that of a secret name.</returns>
    public bool IsSecret(string key, string? name, int position, MaskingRules rules)
    {
        if (_tooDeep > 0 || _frames is not [.., { IsObject: true } frame])
        {
            return false;
        }

        if (PairNames.IsValue(key))
        {
            _frames[^1] = frame with { ValueBegin = position, ValueEnd = -1 };
            return frame.IsSecret;
        }

        if (!frame.IsSecret && PairNames.IsName(key) && name is not null && PairNames.IsSecret(name, rules))
        {
            _frames[^1] = frame with { IsSecret = true };
            if (frame.ValueEnd > frame.ValueBegin)
            {
                _masked.Add((frame.ValueBegin, frame.ValueEnd));
            }
        }

        return false;
    }

    /// <summary>Replaces the values whose names came after them.</summary>
    /// <param name="output">What was written.</param>
    /// <param name="mask">What is written in their places.</param>
    /// <param name="masked">Whether there are any.</param>
    public byte[] Apply(ReadOnlySpan<byte> output, ReadOnlySpan<byte> mask, ref bool masked)
    {
        if (_masked.Count == 0)
        {
            return output.ToArray();
        }

        masked = true;
        var shown = new ArrayBufferWriter<byte>(output.Length);
        var position = 0;

        // A value may be within another one, which then is replaced as a whole.
        foreach (var (begin, end) in _masked.OrderBy(static range => range.Begin))
        {
            if (begin >= position)
            {
                var length = output[begin..end].TrimEnd(" \t\r\n"u8).Length;
                shown.Write(output[position..begin]);
                shown.Write(mask);
                position = begin + length;
            }
        }

        shown.Write(output[position..]);
        return shown.WrittenSpan.ToArray();
    }

    private void EndValue(int position)
    {
        if (_tooDeep == 0 && _frames is [.., { ValueBegin: >= 0, ValueEnd: < 0 } frame])
        {
            _frames[^1] = frame with { ValueEnd = position };
        }
    }

    private record struct Frame
    {
        public bool IsObject { get; init; }

        /// <summary>Whether a name in it is that of a secret.</summary>
        public bool IsSecret { get; init; }

        /// <summary>Where its value is in the output; -1: not yet known.</summary>
        public int ValueBegin { get; init; }

        public int ValueEnd { get; init; }
    }
}
