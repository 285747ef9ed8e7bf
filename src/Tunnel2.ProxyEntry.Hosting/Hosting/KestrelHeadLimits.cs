using Microsoft.AspNetCore.Server.Kestrel.Core;
using Tunnel2.Http2.Hpack;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// The size of heads that Kestrel reads. For a larger one Kestrel resets the stream, or ends the connection and with it all other requests
/// of that browser. So its limits are above ours: a request between the two gets our answer, and the connection continues. A block of
/// HTTP/2 that is larger still is shortened before Kestrel, to what Kestrel reads and we refuse.
/// </summary>
internal static class KestrelHeadLimits
{
    /// <summary>How many times our limit of bytes Kestrel reads.</summary>
    private const int Bytes = 4;

    /// <summary>
    /// How many times our limit of fields Kestrel reads. Not more, because with HPACK a field may cost its sender one byte, and us a
    /// hundred.
    /// </summary>
    private const int Fields = 5;

    /// <summary>Kestrel's limit of bytes is at least this, also when our limit is lower.</summary>
    private const int LeastBytes = 96 * 1024;

    /// <summary>Sets Kestrel's limits.</summary>
    public static void Apply(KestrelServerLimits limits, ProxyEntrySettings settings)
    {
        var head = Math.Max(settings.MaxRequestHeadBytes * Bytes, LeastBytes);
        limits.MaxRequestHeadersTotalSize = head;
        limits.Http2.MaxRequestHeaderFieldSize = head;

        // A stream of HTTP/2 with a longer target is reset. Kestrel keeps several copies of the target.
        limits.MaxRequestLineSize = head / 2;
        limits.MaxRequestHeaderCount = ProtocolLimits.MaxHeaderFields * Fields;
    }

    /// <summary>
    /// From where on a block is shortened. Its compressed bytes are counted, which are more than those of a head only in lengths and where
    /// a code makes them longer. What is left has room in Kestrel's limit, decoded, also when it has a code of 5 bits for each byte.
    /// </summary>
    public static HpackShortenerLimits Shortened(ProxyEntrySettings settings) => new(
        Bytes: settings.MaxRequestHeadBytes + HpackShortener.LongestKept,
        Fields: 2 * ProtocolLimits.MaxHeaderFields,
        StandIn: Math.Max(settings.MaxRequestLineBytes, HpackDecoder.DefaultTableSize) + 1,
        Mark: settings.MaxRequestHeadBytes + 1);
}
