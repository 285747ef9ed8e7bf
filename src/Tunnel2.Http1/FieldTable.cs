using static Tunnel2.Http1.FieldRule;

namespace Tunnel2.Http1;

/// <summary>
/// What happens to each field: one table for every version of HTTP and for both ends of the tunnel. <see cref="KnownFields"/> takes its
/// names from it, and <see cref="FieldRules"/> its rules. Immutable.
/// </summary>
internal static class FieldTable
{
    // An array and not a span: for a span the compiler makes a struct with as many elements, which the JIT compiles more slowly than
    // filling an array takes. Columns: name, field, in a request, in a response, in trailers.

    /// <summary>The rows.</summary>
    public static FieldRow[] Rows { get; } =
    [
        new(null, KnownField.None, Pass, Pass, Pass),

        // Fields that frame or route a message.
        new("host", KnownField.Host, Keep, Pass, Refuse),
        new("content-length", KnownField.ContentLength, Keep, Length, Refuse) { Lookalike = KnownField.FramingLookalike },
        new(
            "transfer-encoding",
            KnownField.TransferEncoding,
            Drop,
            Drop,
            Refuse) { Lookalike = KnownField.FramingLookalike, IsOfHttp1 = true },
        new(null, KnownField.FramingLookalike, Refuse, Drop, Refuse),
        new("expect", KnownField.Expect, Keep, Pass, Drop),

        // Fields of one connection (RFC 9110 section 7.6.1), and fields for the next proxy.
        new("connection", KnownField.Connection, Drop, Drop, Drop) { IsOfHttp1 = true },
        new("keep-alive", KnownField.KeepAlive, Drop, Drop, Drop) { Lookalike = KnownField.HopByHopLookalike, IsOfHttp1 = true },
        new(
            "proxy-connection",
            KnownField.ProxyConnection,
            Drop,
            Drop,
            Drop) { Lookalike = KnownField.HopByHopLookalike, IsOfHttp1 = true },
        new("upgrade", KnownField.Upgrade, Protocols, Protocols, Drop) { IsOfHttp1 = true },
        new("te", KnownField.Te, Trailers, Drop, Drop),
        new("http2-settings", KnownField.Http2Settings, Drop, Drop, Drop) { Lookalike = KnownField.HopByHopLookalike },
        new("proxy-authenticate", KnownField.ProxyAuthenticate, Drop, Drop, Drop) { Lookalike = KnownField.HopByHopLookalike },
        new("proxy-authorization", KnownField.ProxyAuthorization, Drop, Drop, Drop) { Lookalike = KnownField.HopByHopLookalike },
        new("proxy-authentication-info", KnownField.ProxyAuthenticationInfo, Drop, Drop, Drop) { Lookalike = KnownField.HopByHopLookalike },
        new("proxy", KnownField.Proxy, Drop, Drop, Drop),
        new(null, KnownField.HopByHopLookalike, Drop, Drop, Drop),

        // Forwarding fields.
        new("forwarded", KnownField.Forwarded, Forwarding, Pass, Drop),
        new("x-forwarded-for", KnownField.XForwardedFor, Forwarding, Pass, Drop) { Lookalike = KnownField.ForwardingLookalike },
        new("x-forwarded-host", KnownField.XForwardedHost, Forwarding, Pass, Drop) { Lookalike = KnownField.ForwardingLookalike },
        new("x-forwarded-proto", KnownField.XForwardedProto, Forwarding, Pass, Drop) { Lookalike = KnownField.ForwardingLookalike },
        new("x-forwarded-port", KnownField.XForwardedPort, Forwarding, Pass, Drop) { Lookalike = KnownField.ForwardingLookalike },
        new(null, KnownField.XForwardedOther, TrustedForwarding, Pass, Drop),
        new("x-real-ip", KnownField.XRealIp, TrustedForwarding, Pass, Drop) { Lookalike = KnownField.ForwardingLookalike },
        new(null, KnownField.ForwardingLookalike, Drop, Pass, Drop),

        // Fields that only Tunnel2 itself may send.
        new(null, KnownField.Tunnel2, Drop, Drop, Drop),
        new(null, KnownField.XTunnel2, Identity, Pass, Drop),

        // Traces (W3C Trace Context).
        new("traceparent", KnownField.TraceParent, Trace, Pass, Pass),
        new("tracestate", KnownField.TraceState, Trace, Pass, Pass),

        // Fields that are known for other reasons. Those that RFC 9110 section 6.5.1 does not allow in trailers are dropped there, because
        // a reader that merges trailers into the head would take them for the head's.
        new("trailer", KnownField.Trailer, Pass, Pass, Drop),
        new("via", KnownField.Via, Pass, Pass, Pass),
        new("date", KnownField.Date, Pass, Pass, Drop),
        new("server", KnownField.Server, Pass, Pass, Pass),
        new("proxy-status", KnownField.ProxyStatus, Pass, Pass, Pass),
        new("content-type", KnownField.ContentType, Pass, Pass, Drop),
        new("content-encoding", KnownField.ContentEncoding, Pass, Pass, Drop),
        new("accept", KnownField.Accept, Pass, Pass, Pass),
        new("authorization", KnownField.Authorization, Credentials, Pass, Drop),
        new("cookie", KnownField.Cookie, Pass, Pass, Drop),
        new("set-cookie", KnownField.SetCookie, Pass, Pass, Drop),
        new("origin", KnownField.Origin, Pass, Pass, Drop),
        new("user-agent", KnownField.UserAgent, Pass, Pass, Pass),
        new("sec-websocket-key", KnownField.SecWebSocketKey, Pass, Pass, Pass),
        new("sec-websocket-accept", KnownField.SecWebSocketAccept, Pass, Pass, Pass),
        new("sec-websocket-version", KnownField.SecWebSocketVersion, Pass, Pass, Pass),
        new("sec-websocket-protocol", KnownField.SecWebSocketProtocol, Pass, Pass, Pass),
        new("sec-websocket-extensions", KnownField.SecWebSocketExtensions, Pass, Pass, Pass),

        // The rest of that section: fields that route, authenticate or modify a request, control a response or describe the content.
        new("age", KnownField.None, Pass, Pass, Drop),
        new("cache-control", KnownField.None, Pass, Pass, Drop),
        new("content-range", KnownField.None, Pass, Pass, Drop),
        new("expires", KnownField.None, Pass, Pass, Drop),
        new("if-match", KnownField.None, Pass, Pass, Drop),
        new("if-modified-since", KnownField.None, Pass, Pass, Drop),
        new("if-none-match", KnownField.None, Pass, Pass, Drop),
        new("if-range", KnownField.None, Pass, Pass, Drop),
        new("if-unmodified-since", KnownField.None, Pass, Pass, Drop),
        new("location", KnownField.None, Pass, Pass, Drop),
        new("max-forwards", KnownField.None, Pass, Pass, Drop),
        new("pragma", KnownField.None, Pass, Pass, Drop),
        new("range", KnownField.None, Pass, Pass, Drop),
        new("retry-after", KnownField.None, Pass, Pass, Drop),
        new("vary", KnownField.None, Pass, Pass, Drop),
        new("warning", KnownField.None, Pass, Pass, Drop),
        new("www-authenticate", KnownField.None, Pass, Pass, Drop),
    ];
}
