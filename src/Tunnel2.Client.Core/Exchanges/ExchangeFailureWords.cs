using System.Globalization;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Http2.Frames;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>The words for a request that failed: which part of the way, and what happened there.</summary>
internal static class ExchangeFailureWords
{
    /// <summary>For an exchange that is over; null when nothing went wrong.</summary>
    /// <param name="failure">What the agent itself ended it for.</param>
    /// <param name="stream">What its stream was cut with.</param>
    public static (string Leg, string Error)? For(BackendFailure failure, StreamFailure stream) =>
        failure.IsNone ? For(stream) : For(failure.Reason, failure.Detail);

    /// <summary>For what the agent itself reset a stream with.</summary>
    public static (string Leg, string Error) For(StreamResetReason reason, StreamResetDetail detail) => reason switch
    {
        StreamResetReason.Cancel => ("visitor", "left before the end"),
        StreamResetReason.VisitorProtocol =>
            ("visitor", detail == StreamResetDetail.HeadTooLarge ? "request head too large" : "broke HTTP"),
        StreamResetReason.BackendConnect when detail == StreamResetDetail.TooManyConnections =>
            ("agent", "no connection to the service came free in time: all that --backend-connections allows are in use"),
        StreamResetReason.BackendConnect when detail == StreamResetDetail.NoDescriptors => (
            "agent",
            "no file descriptor is left for a connection to the service: raise the limit (ulimit -n) or lower --backend-connections"),
        StreamResetReason.BackendConnect or StreamResetReason.BackendTimeout or StreamResetReason.BackendProtocol =>
            ("backend", OfBackend(detail)),
        StreamResetReason.Refused when detail.Http2Code() is not null => ("backend", "takes no more requests on its HTTP/2 connection"),
        StreamResetReason.Refused => ("agent", detail == StreamResetDetail.TooManyStreams ? "too many requests at once" : "is stopping"),
        _ => ("agent", "a fault of the agent itself"),
    };

    /// <summary>For a stream that was cut from elsewhere; null when it was not.</summary>
    public static (string Leg, string Error)? For(StreamFailure failure) => failure.Kind switch
    {
        StreamFailureKind.None => null,
        StreamFailureKind.PeerReset when failure.Reason is StreamResetReason.None => null,
        StreamFailureKind.PeerReset =>
            ("visitor", failure.Reason == StreamResetReason.VisitorProtocol ? "broke HTTP" : "left before the end"),
        StreamFailureKind.UplinkLost => ("uplink", "lost before the end"),
        _ => For(failure.Reason, failure.Detail),
    };

    private static string OfBackend(StreamResetDetail detail) => detail switch
    {
        StreamResetDetail.ConnectionRefused => "connection refused",
        StreamResetDetail.NameNotResolved => "host name not found (DNS)",
        StreamResetDetail.ConnectTimeout => "no connection in time",
        StreamResetDetail.Unreachable => "no route to its host, or no free port here for one more connection",
        StreamResetDetail.TlsFailed => "TLS handshake failed",
        StreamResetDetail.SpeaksTls => "speaks TLS, not plain HTTP: give it as https://",
        StreamResetDetail.SpeaksHttp2 => "speaks only HTTP/2: give it as h2c://, or allow it by --backend-protocol auto",
        StreamResetDetail.NotHttp2 => "does not speak HTTP/2, which h2c:// or --backend-protocol h2 asks for",
        StreamResetDetail.NotTls => "does not speak TLS: give it as http://",
        StreamResetDetail.WantsCertificate => "asks its clients for a certificate, and the agent has none",
        StreamResetDetail.ClosedBeforeResponse => "closed the connection before it answered",
        StreamResetDetail.ClosedInBody => "closed the connection in the middle of its answer",
        StreamResetDetail.MalformedHead => "its answer is not HTTP",
        StreamResetDetail.HeadTooLarge => "head too large",
        StreamResetDetail.MalformedBody => "the body of its answer is malformed",
        StreamResetDetail.UnexpectedUpgrade => "switched protocols without being asked",
        StreamResetDetail.BodyIdle => "the body stalled for too long",
        StreamResetDetail.Stalled => "took nothing of the body for too long",
        _ when detail.Http2Code() is { } code =>
            string.Create(CultureInfo.InvariantCulture, $"reset its HTTP/2 stream ({(Http2ErrorCode)code})"),
        _ => "broke HTTP",
    };
}
