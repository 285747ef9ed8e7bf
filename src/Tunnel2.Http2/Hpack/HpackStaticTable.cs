using System.Text;

namespace Tunnel2.Http2.Hpack;

/// <summary>The fields that every peer knows (RFC 7541 appendix A). Immutable.</summary>
internal static class HpackStaticTable
{
    /// <summary>How many there are; the indices of dynamic entries begin after them.</summary>
    public const int Count = 61;

    /// <summary>Index of <c>:authority</c>.</summary>
    public const int Authority = 1;

    /// <summary>Index of <c>:method: GET</c>; the name of any method.</summary>
    public const int MethodGet = 2;

    /// <summary>Index of <c>:method: POST</c>.</summary>
    public const int MethodPost = 3;

    /// <summary>Index of <c>:path: /</c>; the name of any path.</summary>
    public const int Path = 4;

    /// <summary>Index of <c>:scheme: http</c>.</summary>
    public const int SchemeHttp = 6;

    /// <summary>Index of <c>:scheme: https</c>.</summary>
    public const int SchemeHttps = 7;

    /// <summary>Index of <c>accept</c>.</summary>
    public const int Accept = 19;

    /// <summary>Index of <c>content-type</c>.</summary>
    public const int ContentType = 31;

    private static readonly Entry[] _entries = CreateEntries();

    // For each length of a name the indices of the names that have it: a few comparisons find a name.
    private static readonly byte[][] _byLength = CreateLengths();

    /// <summary>The field of an index.</summary>
    /// <param name="index">1 to <see cref="Count"/>.</param>
    /// <param name="name">Its name.</param>
    /// <param name="value">Its value; may be empty.</param>
    public static void Get(int index, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value)
    {
        ref readonly var entry = ref _entries[index - 1];
        name = entry.Name;
        value = entry.Value;
    }

    /// <summary>The first index with a name; 0 when there is none.</summary>
    /// <param name="lowerName">The name in lower case.</param>
    public static int IndexOf(ReadOnlySpan<byte> lowerName)
    {
        if (lowerName.Length >= _byLength.Length)
        {
            return 0;
        }

        foreach (var index in _byLength[lowerName.Length])
        {
            if (lowerName.SequenceEqual(_entries[index - 1].Name))
            {
                return index;
            }
        }

        return 0;
    }

    private static Entry[] CreateEntries()
    {
        string[] fields =
        [
            ":authority", ":method=GET", ":method=POST", ":path=/", ":path=/index.html", ":scheme=http", ":scheme=https", ":status=200",
            ":status=204", ":status=206", ":status=304", ":status=400", ":status=404", ":status=500", "accept-charset",
            "accept-encoding=gzip, deflate", "accept-language", "accept-ranges", "accept", "access-control-allow-origin", "age", "allow",
            "authorization", "cache-control", "content-disposition", "content-encoding", "content-language", "content-length",
            "content-location", "content-range", "content-type", "cookie", "date", "etag", "expect", "expires", "from", "host", "if-match",
            "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "last-modified", "link", "location", "max-forwards",
            "proxy-authenticate", "proxy-authorization", "range", "referer", "refresh", "retry-after", "server", "set-cookie",
            "strict-transport-security", "transfer-encoding", "user-agent", "vary", "via", "www-authenticate",
        ];
        return Array.ConvertAll(
            fields,
            static field =>
            {
                var split = field.IndexOf('=', StringComparison.Ordinal);
                return new Entry(
                    Encoding.ASCII.GetBytes(split < 0 ? field : field[..split]),
                    Encoding.ASCII.GetBytes(split < 0 ? "" : field[(split + 1)..]));
            });
    }

    private static byte[][] CreateLengths()
    {
        var byLength = new List<byte>[_entries.Max(static entry => entry.Name.Length) + 1];
        for (var i = 0; i < byLength.Length; i++)
        {
            byLength[i] = [];
        }

        for (var i = 0; i < _entries.Length; i++)
        {
            var name = _entries[i].Name;
            if (!byLength[name.Length].Exists(other => _entries[other - 1].Name.AsSpan().SequenceEqual(name)))
            {
                byLength[name.Length].Add((byte)(i + 1));
            }
        }

        return Array.ConvertAll(byLength, static indices => indices.ToArray());
    }

    private readonly record struct Entry(byte[] Name, byte[] Value);
}
