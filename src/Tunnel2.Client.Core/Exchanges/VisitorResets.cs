using Tunnel2.Http2.Frames;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>With which code a service that speaks HTTP/2 learns that its visitor left.</summary>
internal static class VisitorResets
{
    /// <summary>The visitor's own code where it spoke HTTP/2 and gave one; otherwise CANCEL.</summary>
    public static Http2ErrorCode VisitorCode(this TunnelStream stream) =>
        stream.PeerResetDetail.Http2Code() is { } code ? (Http2ErrorCode)code : Http2ErrorCode.Cancel;
}
