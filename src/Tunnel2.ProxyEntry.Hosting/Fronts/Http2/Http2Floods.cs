using System.Net;
using Tunnel2.Http2.Frames;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Fronts.Http2;

/// <summary>
/// Reports the connections that <see cref="Http2Link"/> ends: to the log, which sums them up, and as a metric. Thread-safe.
/// </summary>
internal sealed class Http2Floods(ConnectionMetrics metrics, ILogger<Http2Floods> logger)
{
    /// <summary>A connection was ended because of what its visitor sent.</summary>
    /// <param name="flood">What it sent too much of.</param>
    /// <param name="visitor">Its address.</param>
    public void Report(Http2Flood flood, EndPoint? visitor)
    {
        var name = NameOf(flood);
        metrics.Flooded(name);
        ProxyEntryLog.Http2Flood(logger, (visitor as IPEndPoint)?.Address, name);
    }

    /// <summary>The kind of a frame that found no token.</summary>
    public static Http2Flood KindOf(Http2FrameType type) => type switch
    {
        Http2FrameType.RstStream => Http2Flood.Reset,
        Http2FrameType.Ping => Http2Flood.Ping,
        Http2FrameType.Settings => Http2Flood.Settings,
        Http2FrameType.Data => Http2Flood.EmptyData,
        Http2FrameType.Continuation => Http2Flood.Continuation,
        Http2FrameType.WindowUpdate => Http2Flood.WindowUpdate,
        _ => Http2Flood.Other,
    };

    private static string NameOf(Http2Flood flood) => flood switch
    {
        Http2Flood.Reset => "reset",
        Http2Flood.ForcedReset => "forced-reset",
        Http2Flood.Ping => "ping",
        Http2Flood.Settings => "settings",
        Http2Flood.EmptyData => "empty-data",
        Http2Flood.Continuation => "continuation",
        Http2Flood.WindowUpdate => "window-update",
        _ => "other",
    };
}
