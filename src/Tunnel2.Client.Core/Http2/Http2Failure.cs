using Tunnel2.Http2.Frames;

namespace Tunnel2.Client.Core.Http2;

/// <summary>Why a stream ended before its response did.</summary>
internal enum Http2FailureKind
{
    /// <summary>It has not failed.</summary>
    None,

    /// <summary>The service did certainly nothing with the request: it refused the stream, or said so by GOAWAY.</summary>
    Refused,

    /// <summary>The service reset the stream.</summary>
    Reset,

    /// <summary>The service's answer breaks HTTP; this side reset the stream.</summary>
    Malformed,

    /// <summary>The head or the trailers are larger than the tunnel carries; this side reset the stream.</summary>
    TooLarge,

    /// <summary>The connection is gone.</summary>
    ConnectionLost,

    /// <summary>The connection was ended because the service broke the protocol.</summary>
    ConnectionBroken,

    /// <summary>This side gave up.</summary>
    Cancelled,
}

/// <summary>Why a stream ended before its response did, and the code that the service gave.</summary>
/// <param name="Kind">How.</param>
/// <param name="Code">The service's code, for <see cref="Http2FailureKind.Reset"/>.</param>
internal readonly record struct Http2Failure(Http2FailureKind Kind, Http2ErrorCode Code = Http2ErrorCode.NoError)
{
    public bool IsNone => Kind == Http2FailureKind.None;
}
