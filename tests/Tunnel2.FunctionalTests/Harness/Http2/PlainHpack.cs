using System.Text;

namespace Tunnel2.FunctionalTests.Harness.Http2;

/// <summary>
/// The part of HPACK (RFC 7541) that needs no state: literals on the way out; on the way in also the static table, for a peer that was
/// asked to keep no table of its own and that uses no Huffman code.
/// </summary>
internal static class PlainHpack
{
    private static readonly string[] _names =
    [
        "", ":authority", ":method", ":method", ":path", ":path", ":scheme", ":scheme", ":status", ":status", ":status", ":status",
        ":status", ":status", ":status", "accept-charset", "accept-encoding", "accept-language", "accept-ranges", "accept",
        "access-control-allow-origin", "age", "allow", "authorization", "cache-control", "content-disposition", "content-encoding",
        "content-language", "content-length", "content-location", "content-range", "content-type", "cookie", "date", "etag", "expect",
        "expires", "from", "host", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "last-modified",
        "link", "location", "max-forwards", "proxy-authenticate", "proxy-authorization", "range", "referer", "refresh", "retry-after",
        "server", "set-cookie", "strict-transport-security", "transfer-encoding", "user-agent", "vary", "via", "www-authenticate",
    ];

    private static readonly Dictionary<int, string> _values = new()
    {
        [2] = "GET",
        [3] = "POST",
        [4] = "/",
        [5] = "/index.html",
        [6] = "http",
        [7] = "https",
        [8] = "200",
        [9] = "204",
        [10] = "206",
        [11] = "304",
        [12] = "400",
        [13] = "404",
        [14] = "500",
    };

    /// <summary>Writes fields, each as a literal that the peer is not to remember.</summary>
    public static byte[] Encode(IEnumerable<(string Name, string Value)> fields)
    {
        var bytes = new List<byte>();
        foreach (var (name, value) in fields)
        {
            bytes.Add(0);
            foreach (var text in new[] { name, value })
            {
                WriteInteger(bytes, 0, 7, text.Length);
                bytes.AddRange(Encoding.Latin1.GetBytes(text));
            }
        }

        return [.. bytes];
    }

    /// <summary>Reads fields.</summary>
    public static List<(string Name, string Value)> Decode(ReadOnlySpan<byte> block)
    {
        var fields = new List<(string Name, string Value)>();
        while (!block.IsEmpty)
        {
            var first = block[0];
            if ((first & 0x80) != 0)
            {
                var index = ReadInteger(ref block, 7);
                fields.Add((_names[index], _values.GetValueOrDefault(index, "")));
            }
            else if ((first & 0xE0) == 0x20)
            {
                ReadInteger(ref block, 5);
            }
            else
            {
                var index = ReadInteger(ref block, (first & 0xC0) == 0x40 ? 6 : 4);
                var name = index == 0 ? ReadText(ref block) : _names[index];
                fields.Add((name, ReadText(ref block)));
            }
        }

        return fields;
    }

    private static string ReadText(ref ReadOnlySpan<byte> block)
    {
        Assert.True((block[0] & 0x80) == 0, "A field has the Huffman code.");
        var length = ReadInteger(ref block, 7);
        var text = Encoding.Latin1.GetString(block[..length]);
        block = block[length..];
        return text;
    }

    private static int ReadInteger(ref ReadOnlySpan<byte> block, int prefix)
    {
        var most = (1 << prefix) - 1;
        var value = block[0] & most;
        block = block[1..];
        if (value < most)
        {
            return value;
        }

        for (var shift = 0; ; shift += 7)
        {
            var next = block[0];
            block = block[1..];
            value += (next & 0x7F) << shift;
            if ((next & 0x80) == 0)
            {
                return value;
            }
        }
    }

    private static void WriteInteger(List<byte> bytes, byte pattern, int prefix, int value)
    {
        var most = (1 << prefix) - 1;
        if (value < most)
        {
            bytes.Add((byte)(pattern | value));
            return;
        }

        bytes.Add((byte)(pattern | most));
        for (value -= most; value >= 0x80; value >>= 7)
        {
            bytes.Add((byte)(value | 0x80));
        }

        bytes.Add((byte)value);
    }
}
