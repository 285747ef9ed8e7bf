using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.Forwarding;

/// <summary>Maps the failure of a stream to the error that the visitor gets, with the leg that failed.</summary>
internal static class FailureMapping
{
    /// <param name="failure">The failure.</param>
    /// <param name="isOfLink">Whether the stream leads to another node, which may say what an agent says to it.</param>
    public static ProxyError ToProxyError(this StreamFailure failure, bool isOfLink = false) => failure.Kind switch
    {
        StreamFailureKind.UplinkLost when isOfLink => ProxyError.NodeLost,
        StreamFailureKind.PeerReset when isOfLink && failure.Reason == StreamResetReason.Refused =>
            failure.Detail == StreamResetDetail.SessionLeft ? ProxyError.AgentOffline : ProxyError.NodeUnreachable,
        StreamFailureKind.UplinkLost => ProxyError.UplinkLost,
        StreamFailureKind.PeerReset => FromReset(failure.Reason, failure.Detail),
        StreamFailureKind.LocalReset when failure.Reason == StreamResetReason.VisitorProtocol => ProxyError.BadRequest,
        StreamFailureKind.LocalReset when failure.Detail == StreamResetDetail.Stalled => ProxyError.VisitorStalled,
        _ => ProxyError.Internal,
    };

    /// <summary>The code with which a service of HTTP/2 has reset the request; null: it has not.</summary>
    public static int? ResetCode(this StreamFailure failure) =>
        failure.Kind == StreamFailureKind.PeerReset ? failure.Detail.Http2Code() : null;

    private static ProxyError FromReset(StreamResetReason reason, StreamResetDetail detail) => reason switch
    {
        StreamResetReason.Refused => detail.Http2Code() is null ? ProxyError.AgentRefused : ProxyError.BackendBusy,
        StreamResetReason.BackendConnect => detail switch
        {
            StreamResetDetail.ConnectionRefused => ProxyError.BackendRefused,
            StreamResetDetail.NameNotResolved => ProxyError.BackendNameNotResolved,
            StreamResetDetail.ConnectTimeout => ProxyError.BackendConnectTimeout,
            StreamResetDetail.TlsFailed => ProxyError.BackendTlsFailed,
            StreamResetDetail.NotTls => ProxyError.BackendNotTls,
            StreamResetDetail.TooManyConnections or StreamResetDetail.NoDescriptors => ProxyError.BackendConnectionLimit,
            _ => ProxyError.BackendUnreachable,
        },
        StreamResetReason.BackendTimeout => detail == StreamResetDetail.Stalled ? ProxyError.BackendStalled : ProxyError.BackendTimeout,
        StreamResetReason.BackendProtocol => detail switch
        {
            StreamResetDetail.ClosedBeforeResponse or StreamResetDetail.ClosedInBody or StreamResetDetail.WantsCertificate =>
                ProxyError.BackendClosed,
            StreamResetDetail.HeadTooLarge => ProxyError.BackendHeadTooLarge,
            StreamResetDetail.SpeaksTls => ProxyError.BackendSpeaksTls,
            StreamResetDetail.SpeaksHttp2 => ProxyError.BackendSpeaksHttp2,
            _ => ProxyError.BackendProtocol,
        },
        StreamResetReason.VisitorProtocol => ProxyError.BadRequest,
        _ => ProxyError.AgentFailed,
    };
}
