namespace Tunnel2.ProxyEntry.Errors;

/// <summary>
/// Everything that ProxyEntry itself answers. <see cref="ProxyErrorCatalog"/> says how. The values are not sent anywhere.
/// </summary>
internal enum ProxyError
{
    /// <summary>The visitor's request is not HTTP, or contradicts itself.</summary>
    BadRequest,

    /// <summary>The visitor's request has no Host, several, or one that is no host.</summary>
    InvalidHost,

    /// <summary>The visitor's request line is longer than the limit.</summary>
    RequestTargetTooLong,

    /// <summary>The visitor's request head is larger than the limit.</summary>
    RequestHeadTooLarge,

    /// <summary>The visitor's body is larger than the limit.</summary>
    RequestBodyTooLarge,

    /// <summary>The visitor took too long to send the request.</summary>
    RequestTimeout,

    /// <summary>A method that a reverse proxy does not serve, such as CONNECT.</summary>
    MethodNotSupported,

    /// <summary>The visitor's body has a transfer coding other than chunked.</summary>
    TransferCodingNotSupported,

    /// <summary>The visitor speaks a version of HTTP that its listener does not.</summary>
    VersionNotSupported,

    /// <summary>The Host is none of this server's.</summary>
    UnknownHost,

    /// <summary>No session is or was known by this name.</summary>
    UnknownName,

    /// <summary>The name is known, but its agent is not connected.</summary>
    AgentOffline,

    /// <summary>The agent refused the stream before anything was done, or is going away.</summary>
    AgentRefused,

    /// <summary>The uplink broke before the response began.</summary>
    UplinkLost,

    /// <summary>The agent failed by a fault of its own.</summary>
    AgentFailed,

    /// <summary>The backend's port refused the connection.</summary>
    BackendRefused,

    /// <summary>The backend's host cannot be reached.</summary>
    BackendUnreachable,

    /// <summary>The backend's name did not resolve.</summary>
    BackendNameNotResolved,

    /// <summary>Connecting to the backend took longer than the limit.</summary>
    BackendConnectTimeout,

    /// <summary>The agent may have no more connections to backends, or has no descriptors for them.</summary>
    BackendConnectionLimit,

    /// <summary>The TLS handshake with the backend failed.</summary>
    BackendTlsFailed,

    /// <summary>The backend speaks TLS, and the agent was told plain HTTP.</summary>
    BackendSpeaksTls,

    /// <summary>The backend speaks HTTP/2, and the agent speaks HTTP/1.1.</summary>
    BackendSpeaksHttp2,

    /// <summary>The backend does not speak TLS, and the agent was told https.</summary>
    BackendNotTls,

    /// <summary>The backend closed the connection before it answered.</summary>
    BackendClosed,

    /// <summary>The backend's response is not HTTP.</summary>
    BackendProtocol,

    /// <summary>The backend's response head is larger than the limit.</summary>
    BackendHeadTooLarge,

    /// <summary>The backend did not begin its response within the limit.</summary>
    BackendTimeout,

    /// <summary>The request's body stood still for longer than the limit.</summary>
    BodyIdleTimeout,

    /// <summary>Memory for bytes on their way was short, and this visitor took nothing of its response for longest.</summary>
    VisitorStalled,

    /// <summary>Memory for bytes on their way was short, and the backend took nothing of this request's body for longest.</summary>
    BackendStalled,

    /// <summary>The session has as many streams open as it may.</summary>
    StreamLimit,

    /// <summary>More requests than the rate limit allows.</summary>
    RateLimit,

    /// <summary>ProxyEntry is shutting down.</summary>
    Draining,

    /// <summary>A fault of ProxyEntry.</summary>
    Internal,
}
