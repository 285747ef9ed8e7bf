namespace Tunnel2.ProxyEntry.Errors;

/// <summary>
/// The errors with which ProxyEntry itself answers. <see cref="ProxyErrorCatalog"/> has the answer of each. The numbers never leave the
/// process.
/// </summary>
internal enum ProxyError
{
    /// <summary>The visitor's request is not HTTP, or contradicts itself.</summary>
    BadRequest,

    /// <summary>The visitor's request has no Host, several, or a value that is not a host.</summary>
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

    /// <summary>The Host is not below this server's domain.</summary>
    UnknownHost,

    /// <summary>No agent had this name in the last 24 hours.</summary>
    UnknownName,

    /// <summary>The name is that of a session that does not carry HTTP.</summary>
    NotHttp,

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

    /// <summary>The backend speaks HTTP/2, and has refused the request without looking at it.</summary>
    BackendBusy,

    /// <summary>The backend speaks TLS, and the agent was started with http.</summary>
    BackendSpeaksTls,

    /// <summary>The backend speaks HTTP/2, and the agent speaks HTTP/1.1.</summary>
    BackendSpeaksHttp2,

    /// <summary>The backend does not speak TLS, and the agent was started with https.</summary>
    BackendNotTls,

    /// <summary>The backend closed the connection before it answered.</summary>
    BackendClosed,

    /// <summary>The backend's response is not HTTP.</summary>
    BackendProtocol,

    /// <summary>The backend's response head is larger than the limit.</summary>
    BackendHeadTooLarge,

    /// <summary>The backend did not begin its response within the limit.</summary>
    BackendTimeout,

    /// <summary>The request's body stalled for longer than the limit.</summary>
    BodyIdleTimeout,

    /// <summary>Memory for unread bytes was short, and this visitor had read nothing for the longest time.</summary>
    VisitorStalled,

    /// <summary>Memory for unread bytes was short, and the backend had read nothing of this request's body for the longest time.</summary>
    BackendStalled,

    /// <summary>The session has as many open streams as it may have.</summary>
    StreamLimit,

    /// <summary>The request has come through so many tunnels that it goes round in a loop.</summary>
    LoopDetected,

    /// <summary>
    /// All places of visitors' connections are busy, and this tunnel has most of them; or large heads of requests have all of their memory,
    /// and the visitor's address has most of it.
    /// </summary>
    PlacesTaken,

    /// <summary>More requests than the rate limit allows.</summary>
    RateLimit,

    /// <summary>The tunnel is not for visitors from this address.</summary>
    AddressNotAllowed,

    /// <summary>The tunnel is for users who log in, and the visitor has not, or not rightly.</summary>
    LoginRequired,

    /// <summary>The tunnel is for visitors with a token, and the visitor has none.</summary>
    TokenRequired,

    /// <summary>The visitor's token is not one that the tunnel asks for.</summary>
    TokenInvalid,

    /// <summary>The visitor's token was right, and has expired.</summary>
    TokenExpired,

    /// <summary>The visitor's token cannot be checked now.</summary>
    TokenUnchecked,

    /// <summary>The tunnel is for visitors who sign in at a provider, and the visitor has not.</summary>
    SignInRequired,

    /// <summary>A visitor without HTTPS cannot sign in.</summary>
    SignInNeedsTls,

    /// <summary>A sign-in was not completed, or not begun here.</summary>
    SignInFailed,

    /// <summary>The visitor has signed in, and is none of those who may enter.</summary>
    UserNotAllowed,

    /// <summary>The provider cannot be reached, or too many sign in at once.</summary>
    SignInUnavailable,

    /// <summary>The tunnel is for visitors with a certificate, and the visitor has shown none.</summary>
    CertificateRequired,

    /// <summary>The visitor's certificate is not valid now, or not of the tunnel's authorities.</summary>
    CertificateInvalid,

    /// <summary>The connection was made for another name, which asks for no certificate.</summary>
    Misdirected,

    /// <summary>Too many wrong logins, or more at once than are checked.</summary>
    TooManyLogins,

    /// <summary>A row of the tunnel's policy denies the request.</summary>
    PolicyDenied,

    /// <summary>More requests than a row of the tunnel's policy allows.</summary>
    PolicyRateLimit,

    /// <summary>The request of a tunnel for webhooks has no right signature.</summary>
    WebhookSignature,

    /// <summary>The body of a webhook is larger than is held for its check.</summary>
    WebhookBodyTooLarge,

    /// <summary>There is no memory to hold one more webhook for its check.</summary>
    WebhookBusy,

    /// <summary>An agent's request to open an uplink over WebSocket is incomplete.</summary>
    UplinkHandshake,

    /// <summary>A browser asked to open an uplink over WebSocket.</summary>
    UplinkRefused,

    /// <summary>An agent of another machine asked to open an uplink over WebSocket without TLS.</summary>
    UplinkNeedsTls,

    /// <summary>There are as many handshakes of agents as there may be.</summary>
    UplinkBusy,

    /// <summary>The cluster cannot be asked where the name is.</summary>
    NameUnchecked,

    /// <summary>The node of the cluster that has the session cannot be reached, or takes no request.</summary>
    NodeUnreachable,

    /// <summary>The connection to the node that has the session broke.</summary>
    NodeLost,

    /// <summary>ProxyEntry is shutting down.</summary>
    Draining,

    /// <summary>A fault of ProxyEntry.</summary>
    Internal,
}
