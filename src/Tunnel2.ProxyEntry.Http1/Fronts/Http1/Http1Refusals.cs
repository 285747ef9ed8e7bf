using Tunnel2.Http1;
using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>The errors for requests that break a rule of HTTP/1.1.</summary>
internal static class Http1Refusals
{
    public static ProxyError ToProxyError(this Http1Error error) => error switch
    {
        Http1Error.RequestTimeout => ProxyError.RequestTimeout,
        Http1Error.BodyTooLarge => ProxyError.RequestBodyTooLarge,
        Http1Error.RequestLineTooLong => ProxyError.RequestTargetTooLong,
        Http1Error.HeadTooLarge or Http1Error.TooManyFields => ProxyError.RequestHeadTooLarge,
        Http1Error.ConnectNotSupported => ProxyError.MethodNotSupported,
        Http1Error.UnsupportedTransferCoding => ProxyError.TransferCodingNotSupported,
        Http1Error.UnsupportedVersion => ProxyError.VersionNotSupported,
        Http1Error.MissingHost or Http1Error.DuplicateHost or Http1Error.InvalidHost or Http1Error.HostDiffersFromTarget =>
            ProxyError.InvalidHost,
        _ => ProxyError.BadRequest,
    };
}
