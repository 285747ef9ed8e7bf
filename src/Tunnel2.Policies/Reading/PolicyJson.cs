using System.Text;
using System.Text.Json;

namespace Tunnel2.Policies.Reading;

/// <summary>Reads JSON into parts that know their lines. Remarks and a comma too many are taken: people write these files.</summary>
internal static class PolicyJson
{
    private const int Deepest = 8;

    /// <summary>Reads a text.</summary>
    /// <param name="text">UTF-8, with or without its mark.</param>
    /// <param name="node">The whole, when it is JSON.</param>
    /// <returns>What is wrong with it; null: nothing.</returns>
    public static PolicyMistake? TryRead(ReadOnlySpan<byte> text, out PolicyNode? node)
    {
        node = null;
        text = text.StartsWith(Encoding.UTF8.Preamble) ? text[Encoding.UTF8.Preamble.Length..] : text;
        var reader = new Utf8JsonReader(text, new JsonReaderOptions
        {
            AllowTrailingCommas = true,
            CommentHandling = JsonCommentHandling.Skip,
            MaxDepth = Deepest,
        });
        var lines = new LineCounter(text);
        try
        {
            if (!reader.Read())
            {
                return new PolicyMistake(0, 1, "there is nothing");
            }

            node = ReadValue(ref reader, ref lines);
            if (reader.Read())
            {
                node = null;
                return new PolicyMistake(0, lines.At(reader.TokenStartIndex), "there is more than one value");
            }

            return null;
        }
        catch (JsonException exception)
        {
            node = null;
            return new PolicyMistake(0, (int)(exception.LineNumber ?? 0) + 1, "is not JSON");
        }
        catch (InvalidOperationException)
        {
            node = null;
            return new PolicyMistake(0, lines.At(reader.TokenStartIndex), "has a text that is not UTF-8");
        }
    }

    private static PolicyNode ReadValue(ref Utf8JsonReader reader, ref LineCounter lines)
    {
        var line = lines.At(reader.TokenStartIndex);
        switch (reader.TokenType)
        {
            case JsonTokenType.StartObject:
                var table = new PolicyNode(PolicyNodeKind.Table, "", line);
                while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
                {
                    var name = reader.GetString()!;
                    reader.Read();
                    table.Members.Add((name, ReadValue(ref reader, ref lines)));
                }

                return table;
            case JsonTokenType.StartArray:
                var list = new PolicyNode(PolicyNodeKind.List, "", line);
                while (reader.Read() && reader.TokenType != JsonTokenType.EndArray)
                {
                    list.Items.Add(ReadValue(ref reader, ref lines));
                }

                return list;
            case JsonTokenType.String:
                return new PolicyNode(PolicyNodeKind.Text, reader.GetString()!, line);
            case JsonTokenType.Number:
                return new PolicyNode(PolicyNodeKind.Number, Encoding.UTF8.GetString(reader.ValueSpan), line);
            case JsonTokenType.True or JsonTokenType.False:
                return new PolicyNode(PolicyNodeKind.Switch, reader.TokenType == JsonTokenType.True ? "true" : "false", line);
            default:
                return new PolicyNode(PolicyNodeKind.Null, "", line);
        }
    }

    /// <summary>Counts lines, forwards only.</summary>
    private ref struct LineCounter(ReadOnlySpan<byte> text)
    {
        private readonly ReadOnlySpan<byte> _text = text;
        private int _at;
        private int _line = 1;

        public int At(long index)
        {
            var end = (int)Math.Min(index, _text.Length);
            if (end > _at)
            {
                _line += _text[_at..end].Count((byte)'\n');
                _at = end;
            }

            return _line;
        }
    }
}
