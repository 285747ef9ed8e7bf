namespace Tunnel2.Http1;

/// <summary>
/// The fields that a proxy treats specially. Those up to <see cref="Upgrade"/> decide how the message is framed or routed, and are
/// evaluated while a head is parsed. The others save callers the comparison of names.
/// </summary>
internal enum KnownField : byte
{
    /// <summary>Any other field.</summary>
    None,

    /// <summary>Host.</summary>
    Host,

    /// <summary>Content-Length.</summary>
    ContentLength,

    /// <summary>Transfer-Encoding (hop-by-hop).</summary>
    TransferEncoding,

    /// <summary>Connection (hop-by-hop).</summary>
    Connection,

    /// <summary>
    /// <c>Content_Length</c>, <c>Transfer_Encoding</c> and similar: another sign in place of the hyphen. Backends that turn names into
    /// variables (CGI, WSGI, PHP) cannot distinguish them from the real ones.
    /// </summary>
    FramingLookalike,

    /// <summary>Expect.</summary>
    Expect,

    /// <summary>Upgrade (hop-by-hop).</summary>
    Upgrade,

    /// <summary>Keep-Alive (hop-by-hop).</summary>
    KeepAlive,

    /// <summary>Proxy-Connection (hop-by-hop).</summary>
    ProxyConnection,

    /// <summary>Proxy-Authenticate (hop-by-hop).</summary>
    ProxyAuthenticate,

    /// <summary>Proxy-Authorization (hop-by-hop).</summary>
    ProxyAuthorization,

    /// <summary>Proxy-Authentication-Info (hop-by-hop).</summary>
    ProxyAuthenticationInfo,

    /// <summary>Proxy: not a field of HTTP, but a CGI backend reads it as the environment's HTTP_PROXY.</summary>
    Proxy,

    /// <summary>A look-alike of a hop-by-hop field with a hyphen in its name; see <see cref="FramingLookalike"/>.</summary>
    HopByHopLookalike,

    /// <summary>TE (hop-by-hop; a proxy may send its own <c>trailers</c>).</summary>
    Te,

    /// <summary>HTTP2-Settings (hop-by-hop, RFC 7540 section 3.2.1).</summary>
    Http2Settings,

    /// <summary>Trailer.</summary>
    Trailer,

    /// <summary>Forwarded (RFC 7239).</summary>
    Forwarded,

    /// <summary>X-Forwarded-For.</summary>
    XForwardedFor,

    /// <summary>X-Forwarded-Host.</summary>
    XForwardedHost,

    /// <summary>X-Forwarded-Proto.</summary>
    XForwardedProto,

    /// <summary>X-Forwarded-Port.</summary>
    XForwardedPort,

    /// <summary>Any other name that begins with <c>X-Forwarded-</c>.</summary>
    XForwardedOther,

    /// <summary>X-Real-IP.</summary>
    XRealIp,

    /// <summary>A look-alike of a forwarding field; see <see cref="FramingLookalike"/>.</summary>
    ForwardingLookalike,

    /// <summary>Via.</summary>
    Via,

    /// <summary>Date.</summary>
    Date,

    /// <summary>Server.</summary>
    Server,

    /// <summary>Proxy-Status (RFC 9209).</summary>
    ProxyStatus,

    /// <summary>Content-Type.</summary>
    ContentType,

    /// <summary>Content-Encoding.</summary>
    ContentEncoding,

    /// <summary>Accept.</summary>
    Accept,

    /// <summary>Authorization.</summary>
    Authorization,

    /// <summary>Cookie.</summary>
    Cookie,

    /// <summary>Set-Cookie.</summary>
    SetCookie,

    /// <summary>Origin.</summary>
    Origin,

    /// <summary>User-Agent.</summary>
    UserAgent,

    /// <summary>Traceparent (W3C Trace Context).</summary>
    TraceParent,

    /// <summary>Tracestate (W3C Trace Context).</summary>
    TraceState,

    /// <summary>Sec-WebSocket-Key.</summary>
    SecWebSocketKey,

    /// <summary>Sec-WebSocket-Accept.</summary>
    SecWebSocketAccept,

    /// <summary>Sec-WebSocket-Version.</summary>
    SecWebSocketVersion,

    /// <summary>Sec-WebSocket-Protocol.</summary>
    SecWebSocketProtocol,

    /// <summary>Sec-WebSocket-Extensions.</summary>
    SecWebSocketExtensions,

    /// <summary>Any name that begins with <c>X-Tunnel2-</c>, or looks like one: who the visitor is, in ProxyEntry's words.</summary>
    XTunnel2,

    /// <summary>Any name that begins with <c>Tunnel2-</c>, or looks like one: only Tunnel2 itself may send them.</summary>
    Tunnel2,
}
