using System.Globalization;
using System.Text;

namespace Tunnel2.Inspection.Heads;

/// <summary>The head of a response as the service wrote it, read when it is looked at. Immutable.</summary>
internal sealed record ResponseHead
{
    /// <summary>The status, or 0 where there is none.</summary>
    public int Status { get; init; }

    /// <summary>The reason phrase.</summary>
    public byte[] Reason { get; init; } = [];

    /// <summary>The fields in wire order.</summary>
    public IReadOnlyList<HeadField> Fields { get; init; } = [];

    /// <summary>Reads the lines of an HTTP/1.1 head, which a strict parser has accepted before.</summary>
    public static ResponseHead Read(ReadOnlySpan<byte> lines)
    {
        var first = TakeLine(ref lines);
        if (first.Length < 12 || !int.TryParse(first[9..12], CultureInfo.InvariantCulture, out var status))
        {
            return new ResponseHead();
        }

        var fields = new List<HeadField>();
        while (!lines.IsEmpty)
        {
            var line = TakeLine(ref lines);
            var colon = line.IndexOf((byte)':');
            if (colon > 0)
            {
                fields.Add(new HeadField(line[..colon].ToArray(), line[(colon + 1)..].Trim(" \t"u8).ToArray()));
            }
        }

        return new ResponseHead { Status = status, Reason = first.Length > 13 ? first[13..].ToArray() : [], Fields = fields };
    }

    /// <summary>The value of the first field with a name, found without reading the others; empty where there is none.</summary>
    public static ReadOnlySpan<byte> Find(ReadOnlySpan<byte> lines, scoped ReadOnlySpan<byte> name)
    {
        while (!lines.IsEmpty)
        {
            var line = TakeLine(ref lines);
            if (line.Length > name.Length && line[name.Length] == (byte)':' && Ascii.EqualsIgnoreCase(line[..name.Length], name))
            {
                return line[(name.Length + 1)..].Trim(" \t"u8);
            }
        }

        return [];
    }

    private static ReadOnlySpan<byte> TakeLine(scoped ref ReadOnlySpan<byte> lines)
    {
        var end = lines.IndexOf((byte)'\n');
        var line = end < 0 ? lines : lines[..end];
        lines = end < 0 ? [] : lines[(end + 1)..];
        return line is [.., (byte)'\r'] ? line[..^1] : line;
    }
}
