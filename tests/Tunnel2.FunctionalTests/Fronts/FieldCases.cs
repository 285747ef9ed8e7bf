namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>What becomes of a field that a visitor sends.</summary>
public enum FieldFate
{
    /// <summary>The service gets it.</summary>
    Passes,

    /// <summary>The service gets the request without it.</summary>
    Dropped,

    /// <summary>
    /// The service never gets a whole request: 400, and where the version of HTTP cannot answer, the end of stream or connection.
    /// </summary>
    Refused,
}

/// <summary>
/// A field, and what becomes of it: one table for every version of HTTP, and for the agent against a server that means harm.
/// </summary>
/// <param name="Name">The name as HTTP/1.1 has it; HTTP/2 has it in lower case.</param>
/// <param name="Value">The value.</param>
/// <param name="Fate">What becomes of it.</param>
internal sealed record FieldCase(string Name, string Value, FieldFate Fate)
{
    /// <summary>Some fields are ProxyEntry's to send: what the agent does with them.</summary>
    public FieldFate AtAgent { get; init; } = Fate;

    /// <summary>Where Kestrel, which parses HTTP/2, decides before us: with the same safety, but in another way.</summary>
    public FieldFate AtHttp2 { get; init; } = Fate;

    public override string ToString() => $"{Name}: {Value}";
}

internal static class FieldCases
{
    /// <summary>Fields of a request's head.</summary>
    public static FieldCase[] Heads { get; } =
    [
        .. Of(
            FieldFate.Passes, "X-Custom", "x_custom", "Authorization", "Accept-Language", "X-Original-URL", "X-Request-ID", "Via", "Origin",
            "If-Match", "traceparent", "Trailer", "Date", "content_lengths", "transfer_encodings", "x.y", "Content-Language"),
        .. Of(
            FieldFate.Refused, "Content_Length", "CONTENT_LENGTH", "content.length", "content~length", "Transfer_Encoding",
            "transfer.encoding", "TRANSFER!ENCODING"),
        .. Of(
            FieldFate.Dropped, "Proxy", "Proxy-Authorization", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy_Authorization",
            "Keep_Alive", "Proxy_Connection", "HTTP2-Settings", "HTTP2_Settings"),
        .. Of(
            FieldFate.Dropped,
            "Connection",
            "Keep-Alive",
            "Proxy-Connection",
            "Upgrade",
            "TE").Select(static one => one with { AtHttp2 = FieldFate.Refused }),
        .. Of(FieldFate.Dropped, "Tunnel2-Timing", "Tunnel2-Error", "tunnel2-anything", "Tunnel2_Timing"),
        .. Of(
            FieldFate.Dropped, "X_Forwarded_For", "x_forwarded_for", "X-Forwarded_For", "x.forwarded.host", "X_Forwarded_Proto",
            "X_Forwarded_Anything", "X_Real_IP", "x!real!ip"),
        .. Of(FieldFate.Dropped, "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port")
            .Select(static one => one with { AtAgent = FieldFate.Passes }),
        .. Of(
            FieldFate.Dropped,
            "X-Forwarded-Prefix",
            "X-Forwarded-Ssl",
            "X-Forwarded-Server",
            "X-Real-IP").Select(static one => one with { AtAgent = FieldFate.Passes }),
        new("X-Latin", "caf\u00e9", FieldFate.Passes),
        new("X-Empty", "", FieldFate.Passes),
        new("X-Tab", "a\tb", FieldFate.Passes),
        new("X-Bell", "a\u0007b", FieldFate.Refused),
        new("X-Escape", "a\u001b[2Jb", FieldFate.Refused),
        new("X-Delete", "a\u007fb", FieldFate.Refused),
        new("X-Return", "a\rb", FieldFate.Refused),
        new("X-Feed", "a\nX-Smuggled: b", FieldFate.Refused),
        new("X-Null", "a\0b", FieldFate.Refused),
        new("X Y", "a", FieldFate.Refused),
        new("X(", "a", FieldFate.Refused),
        new("", "a", FieldFate.Refused),
        new("X-\u00e9", "a", FieldFate.Refused),
        new("Content-Length", "5", FieldFate.Refused),

        // HTTP/2 has :authority, which takes the place of any Host.
        new("Host", "other.localhost", FieldFate.Refused) { AtAgent = FieldFate.Passes, AtHttp2 = FieldFate.Dropped },
    ];

    /// <summary>Fields after a request's body.</summary>
    public static FieldCase[] Trailers { get; } =
    [
        .. Of(
            FieldFate.Passes, "X-Check", "ETag", "Server-Timing", "Content-Digest", "grpc-status", "Authentication-Info", "Proxy-Status",
            "x_check"),
        .. Of(FieldFate.Refused, "Host", "Content-Length", "Transfer-Encoding", "Content_Length", "transfer_encoding", "content.length"),
        .. Of(
            FieldFate.Dropped,
            "Connection",
            "Keep-Alive",
            "Proxy-Connection",
            "Upgrade",
            "TE").Select(static one => one with { AtHttp2 = FieldFate.Refused }),
        .. Of(FieldFate.Dropped, "Authorization", "Cookie", "Set-Cookie", "WWW-Authenticate", "Proxy-Authorization"),
        .. Of(
            FieldFate.Dropped, "Cache-Control", "Expect", "Max-Forwards", "Pragma", "Range", "If-Match", "If-None-Match",
            "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Origin"),
        .. Of(FieldFate.Dropped, "Age", "Date", "Expires", "Location", "Retry-After", "Vary", "Warning"),
        .. Of(FieldFate.Dropped, "Content-Type", "Content-Encoding", "Content-Range", "Trailer"),
        .. Of(
            FieldFate.Dropped, "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Prefix", "Forwarded", "X-Real-IP", "x_forwarded_for",
            "x_real_ip", "Tunnel2-Timing", "cache_control"),
        new("X-Bell", "a\u0007b", FieldFate.Refused),
        new("X-Feed", "a\nX-Smuggled: b", FieldFate.Refused),
        new("X Y", "a", FieldFate.Refused),
        new("X-Empty", "", FieldFate.Passes) { AtHttp2 = FieldFate.Dropped },
    ];

    private static IEnumerable<FieldCase> Of(FieldFate fate, params string[] names) => names.Select(name => new FieldCase(name, "7", fate));
}
