namespace Tunnel2.ProxyEntry.Errors;

/// <summary>The form of an error's body.</summary>
internal enum ErrorBodyFormat
{
    /// <summary><c>application/problem+json</c> (RFC 9457): for programs, and for people with curl.</summary>
    ProblemJson,

    /// <summary><c>text/html</c>: for people with a browser.</summary>
    Html,

    /// <summary>No body: a status of gRPC in the head, for requests of gRPC clients.</summary>
    Grpc,

    /// <summary>The same for gRPC-Web.</summary>
    GrpcWeb,
}
