namespace Tunnel2.ProxyEntry.Errors;

/// <summary>The table of all errors. Safe for any number of threads.</summary>
internal static class ProxyErrorCatalog
{
    // Titles and details are plain ASCII without quotes, < > & and backslashes, because they appear in HTML, JSON and a quoted header
    // value.
    private static readonly ProxyErrorInfo[] _errors = CreateTable(
    [
        Visitor(ProxyError.BadRequest, 400, "bad-request", "Bad request",
            "The request is not valid HTTP, so it was not forwarded. Check the client that sent it."),
        Visitor(ProxyError.InvalidHost, 400, "invalid-host", "Invalid host",
            "The request needs exactly one valid Host header, and it was not forwarded. Check the address and the client."),
        Visitor(ProxyError.RequestTargetTooLong, 414, "request-target-too-long", "Address too long",
            "The path and query of the request are longer than this server accepts. Shorten the address or send the data as a body."),
        Visitor(ProxyError.RequestHeadTooLarge, 431, "request-head-too-large", "Request headers too large",
            "The headers of the request are larger than this server accepts. Deleting the cookies of this site often helps."),
        Visitor(ProxyError.RequestBodyTooLarge, 413, "request-body-too-large", "Request body too large",
            "The body of the request is larger than this tunnel accepts. Send it in smaller parts."),
        Visitor(ProxyError.RequestTimeout, 408, "request-timeout", "Request took too long",
            "The request did not arrive completely in time. Check the connection and try again."),
        Visitor(ProxyError.MethodNotSupported, 501, "method-not-supported", "Method not supported",
            "This server does not forward requests with this method. Use another method, or reach the service without the tunnel."),
        Visitor(ProxyError.TransferCodingNotSupported, 501, "transfer-coding-not-supported", "Transfer coding not supported",
            "The body of the request has a transfer coding other than chunked. Send it chunked or with its length."),
        Visitor(ProxyError.VersionNotSupported, 505, "version-not-supported", "HTTP version not supported",
            "The request names a version of HTTP that is not served here. Use version 1.1 or 2."),
        Entry(ProxyError.UnknownHost, 404, "unknown-host", "destination_not_found", "No tunnel at this address",
            "This server has no tunnel for the host that was asked for. Check the address; the agent prints the right one when it "
                + "connects."),
        Entry(ProxyError.UnknownName, 404, "unknown-name", "destination_not_found", "No tunnel with this name",
            "No agent has registered this name. Check the address for a typing mistake, or start the agent under this name."),
        Entry(ProxyError.NotHttp, 421, "not-http", "destination_not_found", "This tunnel does not carry HTTP",
            "The tunnel with this name carries connections of TCP or TLS to a service of its own. Use the address that its agent prints."),
        Uplink(ProxyError.AgentOffline, 503, "agent-offline", "destination_unavailable", "The agent is offline",
            "No agent is connected for this name right now. Try again in a moment; if it is your service, check that the "
                + "agent is running.",
            retryAfter: 5),
        Uplink(ProxyError.AgentRefused, 503, "agent-refused", "destination_unavailable", "The agent takes no more requests",
            "The agent is busy or going away, and did not begin with the request. It is safe to try again.",
            retryAfter: 1),
        Uplink(ProxyError.UplinkLost, 502, "uplink-lost", "connection_terminated", "The connection to the agent broke",
            "The agent lost its connection before the response began. The service may have done its work: think before repeating an "
                + "order or a payment."),
        Uplink(ProxyError.AgentFailed, 502, "agent-failed", "proxy_internal_error", "The agent failed",
            "The agent could not forward the request because of a fault of its own. Its log says more."),
        Backend(ProxyError.BackendRefused, 502, "backend-refused", "connection_refused", "The service refused the connection",
            "The agent is connected, but nothing accepts connections at the address it forwards to. Check that the service is running "
                + "and that the port is right."),
        Backend(ProxyError.BackendUnreachable, 502, "backend-unreachable", "destination_ip_unroutable", "The service is unreachable",
            "The agent is connected, but has no route to the host of the service, or no free port for one more connection to it. Check "
                + "the host, the network of the agent, and whether the service closes each connection after one answer."),
        Backend(ProxyError.BackendNameNotResolved, 502, "backend-name-not-resolved", "dns_error", "The host of the service was not found",
            "The agent is connected, but the host name it forwards to does not resolve. Check the name in the settings of the agent."),
        Backend(
            ProxyError.BackendConnectTimeout, 504, "backend-connect-timeout", "connection_timeout",
            "Connecting to the service took too long",
            "The agent is connected, but the service did not accept a connection in time. Check that it is running and not overloaded, "
                + "and that no firewall drops the connection."),
        Uplink(
            ProxyError.BackendConnectionLimit, 503, "backend-connection-limit", "connection_limit_reached",
            "Too many connections to the service",
            "The agent has as many connections to its services as its setting backend-connections or the open files of its process "
                + "allow, and none became free in time. "
            + "The service saw nothing of the request: it is safe to try again.",
            retryAfter: 1),
        Backend(
            ProxyError.BackendBusy, 503, "backend-busy", "destination_unavailable", "The service takes no more requests",
            "The service is busy or going away, and did not begin with the request. It is safe to try again.",
            retryAfter: 1),
        Backend(ProxyError.BackendTlsFailed, 502, "backend-tls-failed", "tls_protocol_error", "No TLS connection to the service",
            "The agent reached the service, but the TLS handshake failed. Check whether the service speaks https on this port and "
                + "whether its certificate is trusted."),
        Backend(ProxyError.BackendSpeaksTls, 502, "backend-speaks-tls", "tls_protocol_error", "The service speaks TLS",
            "The agent speaks plain HTTP to the service, which wants TLS on this port. Start the agent with an https address."),
        Backend(
            ProxyError.BackendSpeaksHttp2, 502, "backend-speaks-http2", "http_protocol_error", "The service speaks only version 2 of HTTP",
            "The service answered in version 2 of HTTP, as gRPC servers do, where the agent spoke version 1.1. Start the agent with an h2c "
                + "address, or let it choose the version. The next request may already succeed."),
        Backend(ProxyError.BackendNotTls, 502, "backend-not-tls", "tls_protocol_error", "The service does not speak TLS",
            "The agent speaks TLS to the service, which does not speak it on this port. Start the agent with an http address."),
        Backend(ProxyError.BackendClosed, 502, "backend-closed", "connection_terminated", "The service closed the connection",
            "The service took the request and closed the connection without an answer, or in the middle of one. Its log says why: it may "
                + "have crashed, or expect something else than version 1.1 of HTTP on this port, such as TLS, or a certificate of the "
                + "agent."),
        Backend(ProxyError.BackendProtocol, 502, "backend-protocol", "http_protocol_error", "The service broke HTTP",
            "The answer of the service is not valid HTTP. Check that the port belongs to an HTTP service, and whether it expects https."),
        Backend(
            ProxyError.BackendHeadTooLarge, 502, "backend-head-too-large", "http_response_header_section_size",
            "The response headers are too large",
            "The service answered with more headers than a tunnel carries. Look for cookies or headers that grow."),
        Backend(ProxyError.BackendTimeout, 504, "backend-timeout", "http_response_timeout", "The service took too long to answer",
            "The service took the request, but did not begin its answer within the configured limit. It may still be working on it."),
        Backend(ProxyError.BodyIdleTimeout, 504, "body-idle-timeout", "connection_read_timeout", "The transfer stalled",
            "No byte of the body moved for longer than the configured limit, so the exchange was ended."),
        Visitor(ProxyError.VisitorStalled, 408, "visitor-stalled", "The answer was not taken",
            "The client read nothing of the answer for too long while many others did the same, so the exchange was ended."),
        Backend(ProxyError.BackendStalled, 504, "backend-stalled", "connection_write_timeout", "The service does not take the data",
            "The agent is connected, but the service read nothing of the body for too long while many others did the same, so the "
                + "exchange was ended."),
        Entry(ProxyError.StreamLimit, 503, "stream-limit", "connection_limit_reached", "Too many requests at once",
            "This tunnel has as many requests open as it may have. Try again in a moment.", retryAfter: 1),
        Backend(ProxyError.LoopDetected, 508, "loop-detected", "proxy_loop_detected", "The tunnel leads back to itself",
            "The request has come through ten tunnels one after another, so it goes round in a loop. The agent forwards to the public "
                + "address of a tunnel: start it with the address of the service."),
        Entry(ProxyError.PlacesTaken, 503, "places-taken", "connection_limit_reached", "Too many visitors at once",
            "The tunnel server has no room left, and this tunnel or your address has most of it. Try again in a moment.", retryAfter: 1),
        Entry(ProxyError.RateLimit, 429, "rate-limit", "http_request_denied", "Too many requests",
            "This tunnel received more requests than its limit allows. Slow down and try again in a moment.", retryAfter: 1),
        Entry(ProxyError.AddressNotAllowed, 403, "address-not-allowed", "http_request_denied", "Not from this address",
            "The owner of this tunnel lets only some addresses visit it, and yours is not one of them. Ask the owner."),
        Entry(ProxyError.LoginRequired, 401, "login-required", "http_request_denied", "Login required",
            "The owner of this tunnel lets only some users visit it. Log in with the name and password that the owner gave you."),
        Entry(ProxyError.TokenRequired, 401, "token-required", "http_request_denied", "Token required",
            "The owner of this tunnel lets in only requests with a bearer token in the field Authorization, at most 8 KiB long."),
        Entry(ProxyError.TokenInvalid, 401, "token-invalid", "http_request_denied", "Not a right token",
            "The token of the request is not signed by the issuer that this tunnel trusts, not for its audience, not valid yet, or names "
                + "no user. Ask the issuer for another one."),
        Entry(ProxyError.TokenExpired, 401, "token-expired", "http_request_denied", "The token has expired",
            "The time of the token is over. Ask its issuer for a new one and try again."),
        Entry(ProxyError.TokenUnchecked, 503, "token-unchecked", "destination_unavailable", "Tokens cannot be checked now",
            "The keys of the issuer of tokens cannot be fetched, or too many tokens are being checked. Try again in a moment.",
            retryAfter: 2),
        Entry(ProxyError.SignInRequired, 401, "sign-in-required", "http_request_denied", "Sign-in required",
            "The owner of this tunnel lets in only users who have signed in. Open the address in a browser, and sign in there."),
        Entry(ProxyError.SignInNeedsTls, 403, "sign-in-needs-https", "http_request_denied", "Sign-in needs HTTPS",
            "Users sign in to this tunnel, which is safe over HTTPS only. Call its address with https."),
        Entry(ProxyError.SignInFailed, 403, "sign-in-failed", "http_request_denied", "The sign-in failed",
            "The sign-in was not completed, took too long, or was begun elsewhere. Open the address of the tunnel again."),
        Entry(ProxyError.UserNotAllowed, 403, "user-not-allowed", "http_request_denied", "Not for this user",
            "The owner of this tunnel lets only some users in. You are signed in as another one, or your address of mail is not verified."),
        Entry(ProxyError.SignInUnavailable, 503, "sign-in-unavailable", "destination_unavailable", "Users cannot sign in now",
            "The provider where users sign in cannot be reached, or too many sign in at once. Try again in a moment.", retryAfter: 2),
        Entry(ProxyError.CertificateRequired, 403, "certificate-required", "http_request_denied", "A certificate is needed",
            "The owner of this tunnel lets in only visitors who show a certificate in the TLS handshake. Come by https, and with one."),
        Entry(ProxyError.CertificateInvalid, 403, "certificate-invalid", "http_request_denied", "Not a right certificate",
            "The certificate that was shown is not valid now, or is of an authority that the owner of this tunnel does not name."),
        Entry(ProxyError.Misdirected, 421, "misdirected", "http_request_denied", "A connection of its own is needed",
            "This tunnel asks visitors for certificates, and the connection was made for another name. Connect again for this name."),
        Entry(ProxyError.TooManyLogins, 429, "too-many-logins", "http_request_denied", "Too many logins",
            "There were too many wrong logins from this address or at this tunnel. Wait as long as Retry-After says and try again.",
            retryAfter: 1),
        Entry(ProxyError.PolicyDenied, 403, "policy-denied", "http_request_denied", "Not allowed here",
            "The owner of this tunnel has a rule that refuses this request. Check the address, or ask the owner."),
        Entry(ProxyError.PolicyRateLimit, 429, "policy-rate-limit", "http_request_denied", "Too many requests",
            "The owner of this tunnel limits how many requests may come. Wait as long as Retry-After says and try again.",
            retryAfter: 1),
        Entry(ProxyError.WebhookSignature, 403, "webhook-signature", "http_request_denied", "Not signed",
            "The owner of this tunnel takes only requests with a valid signature, made a short while ago. Check the secret and the clock."),
        Entry(ProxyError.WebhookBodyTooLarge, 413, "webhook-body-too-large", "http_request_denied", "Webhook too large",
            "The body of the request is larger than this server holds to check its signature."),
        Entry(ProxyError.WebhookBusy, 503, "webhook-busy", "connection_limit_reached", "Too many webhooks at once",
            "This server holds as many unchecked requests as it has memory for. Try again in a moment.", retryAfter: 1),
        Entry(ProxyError.UplinkHandshake, 400, "uplink-handshake", "http_request_error", "Not a handshake of an agent",
            "The request asks for an uplink over WebSocket, and its handshake is not complete or not of version 13."),
        Entry(ProxyError.UplinkRefused, 403, "uplink-refused", "http_request_denied", "Not from a web page",
            "A web page asked for an uplink over WebSocket. Only agents may: they send no Origin."),
        Entry(ProxyError.UplinkNeedsTls, 403, "uplink-needs-tls", "http_request_denied", "Agents connect here with TLS",
            "An agent of another machine asked for an uplink without TLS, where its token could be read on the way. Connect over wss."),
        Entry(ProxyError.UplinkBusy, 503, "uplink-busy", "connection_limit_reached", "Too many agents connect at once",
            "There are as many agents in their handshake as there may be. The agent tries again by itself.", retryAfter: 1),
        Entry(ProxyError.NameUnchecked, 503, "name-unchecked", "destination_unavailable", "This name cannot be looked up now",
            "This server does not know the name, and cannot ask the others of its cluster now. Try again in a moment.", retryAfter: 2),
        Entry(ProxyError.NodeUnreachable, 503, "node-unreachable", "destination_unavailable", "Another tunnel server cannot be reached",
            "The agent is connected to another server of this cluster, which cannot be reached now or takes no request. Nothing was done "
                + "with the request: it is safe to try again in a moment.",
            retryAfter: 1),
        Entry(ProxyError.NodeLost, 502, "node-lost", "connection_terminated", "The connection to another tunnel server broke",
            "The agent is connected to another server of this cluster, and the connection to that server broke before the response began. "
                + "The service may have done its work: think before repeating an order or a payment."),
        Entry(ProxyError.Draining, 503, "draining", "destination_unavailable", "The server is shutting down",
            "This server takes no new requests because it is being stopped or updated. Try again in a moment.", retryAfter: 2),
        Entry(ProxyError.Internal, 500, "internal-error", "proxy_internal_error", "Something went wrong in the tunnel server",
            "This is a fault of the tunnel server, not of the request or the service. Its log says more."),
    ]);

    /// <summary>All errors, in the order of the enum.</summary>
    public static IReadOnlyList<ProxyErrorInfo> All => _errors;

    /// <summary>The row of an error.</summary>
    public static ProxyErrorInfo Get(ProxyError error) => _errors[(int)error];

    private static ProxyErrorInfo[] CreateTable(ProxyErrorInfo[] rows)
    {
        // A test checks that this table has a row for each member of the enum.
        Array.Sort(rows, static (a, b) => a.Error.CompareTo(b.Error));
        return rows;
    }

    private static ProxyErrorInfo Visitor(ProxyError error, int status, string code, string title, string detail) =>
        Create(error, status, code, ProxyErrorLeg.Visitor, "http_request_error", title, detail, null);

    private static ProxyErrorInfo Entry(
        ProxyError error, int status, string code, string type, string title, string detail, int? retryAfter = null) =>
        Create(error, status, code, ProxyErrorLeg.Entry, type, title, detail, retryAfter);

    private static ProxyErrorInfo Uplink(
        ProxyError error, int status, string code, string type, string title, string detail, int? retryAfter = null) =>
        Create(error, status, code, ProxyErrorLeg.Uplink, type, title, detail, retryAfter);

    private static ProxyErrorInfo Backend(
        ProxyError error, int status, string code, string type, string title, string detail, int? retryAfter = null) =>
        Create(error, status, code, ProxyErrorLeg.Backend, type, title, detail, retryAfter);

    private static ProxyErrorInfo Create(
        ProxyError error, int status, string code, ProxyErrorLeg leg, string type, string title, string detail, int? retryAfter) => new()
        {
            Error = error,
            Status = status,
            Code = code,
            Leg = leg,
            ProxyStatusType = type,
            Title = title,
            Detail = detail,
            RetryAfterSeconds = retryAfter,
        };
}
