using Microsoft.AspNetCore.Server.Kestrel.Core;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// How large a head Kestrel reads. Where it refuses one it resets the stream, or ends the connection and with it all other requests of that
/// browser. So its limits lie above ours, and a request between the two gets our answer while the connection goes on.
/// </summary>
internal static class KestrelHeadLimits
{
    /// <summary>So many times our limit is still read, to be answered.</summary>
    private const int Bytes = 4;

    /// <summary>Fewer than of bytes: with HPACK a field may cost its sender one byte, and us a hundred.</summary>
    private const int Fields = 5;

    /// <summary>However low our limit is set.</summary>
    private const int LeastBytes = 64 * 1024;

    /// <summary>Sets them.</summary>
    public static void Apply(KestrelServerLimits limits, ProxyEntrySettings settings)
    {
        var head = Math.Max(settings.MaxRequestHeadBytes * Bytes, LeastBytes);
        limits.MaxRequestHeadersTotalSize = head;
        limits.Http2.MaxRequestHeaderFieldSize = head;

        // Beyond it a stream of HTTP/2 is reset. Kestrel keeps the target several times over.
        limits.MaxRequestLineSize = head / 2;
        limits.MaxRequestHeaderCount = ProtocolLimits.MaxHeaderFields * Fields;
    }
}
