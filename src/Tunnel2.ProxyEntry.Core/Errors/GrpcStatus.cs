namespace Tunnel2.ProxyEntry.Errors;

/// <summary>
/// An error as a gRPC client sees it: a status of gRPC in a response of HTTP status 200 without a body ("Trailers-Only"). Everything
/// between the visitor and the service is UNAVAILABLE, because that is what clients try again; what the visitor did wrong is not.
/// </summary>
internal static class GrpcStatus
{
    /// <summary>The service cannot be reached: trying again may help.</summary>
    public const int Unavailable = 14;

    private const int PermissionDenied = 7;
    private const int ResourceExhausted = 8;
    private const int Unimplemented = 12;
    private const int Internal = 13;
    private const int Unauthenticated = 16;

    /// <summary>The value of <c>grpc-status</c>.</summary>
    public static int Of(ProxyErrorInfo info) => info.Status switch
    {
        401 => Unauthenticated,
        403 => PermissionDenied,
        413 or 431 => ResourceExhausted,
        501 => Unimplemented,
        400 or 414 or 500 or 505 => Internal,
        _ => Unavailable,
    };

    /// <summary>The value of <c>grpc-message</c>: the leg, and what happened there. It is plain ASCII, so nothing is escaped.</summary>
    public static string MessageOf(ProxyErrorInfo info) => $"{info.LegName}: {info.Title} ({info.Code})";
}
