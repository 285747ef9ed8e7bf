namespace Tunnel2.Http1;

/// <summary>What a server answers for an <see cref="Http1Error"/>.</summary>
internal static class Http1Errors
{
    /// <summary>The status code (400, 408, 413, 414, 431, 501 or 505) that tells a client why its request was refused.</summary>
    /// <remarks>
    /// An overlong method is a 400: the 501 that RFC 9112 section 3 suggests is for servers that know all methods they implement, while a
    /// proxy passes on any.
    /// </remarks>
    public static int StatusCodeOf(Http1Error error) => error switch
    {
        Http1Error.RequestTimeout => 408,
        Http1Error.BodyTooLarge => 413,
        Http1Error.RequestLineTooLong => 414,
        Http1Error.HeadTooLarge or Http1Error.TooManyFields => 431,
        Http1Error.ConnectNotSupported or Http1Error.UnsupportedTransferCoding => 501,
        Http1Error.UnsupportedVersion => 505,
        _ => 400,
    };
}
