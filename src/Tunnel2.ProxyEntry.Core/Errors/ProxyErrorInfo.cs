namespace Tunnel2.ProxyEntry.Errors;

/// <summary>How visitors, logs and metrics see an error. Immutable.</summary>
internal sealed record ProxyErrorInfo
{
    /// <summary>The error.</summary>
    public required ProxyError Error { get; init; }

    /// <summary>The HTTP status, 400–599.</summary>
    public required int Status { get; init; }

    /// <summary>The value of <c>Tunnel2-Error</c> and of the metric tag <c>error.type</c>: stable, kebab-case.</summary>
    public required string Code { get; init; }

    /// <summary>Which part of the way failed.</summary>
    public required ProxyErrorLeg Leg { get; init; }

    /// <summary>The leg as it appears in JSON, logs and metrics.</summary>
    public string LegName => Leg switch
    {
        ProxyErrorLeg.Visitor => "visitor",
        ProxyErrorLeg.Entry => "entry",
        ProxyErrorLeg.Uplink => "uplink",
        _ => "backend",
    };

    /// <summary>The error type registered by RFC 9209 section 2.3.</summary>
    public required string ProxyStatusType { get; init; }

    /// <summary>A few words, such as "The backend refused the connection".</summary>
    public required string Title { get; init; }

    /// <summary>One or two sentences: what happened, and what the reader can do.</summary>
    public required string Detail { get; init; }

    /// <summary>After how many seconds a visitor should try again (<c>Retry-After</c>), or null when trying again does not help.</summary>
    public int? RetryAfterSeconds { get; init; }

    /// <summary>
    /// The value of <c>WWW-Authenticate</c>, which a 401 needs (RFC 9110 section 15.5.2); null for other statuses. Browsers keep a login
    /// for each origin, so one realm is enough.
    /// </summary>
    public string? Challenge => Error switch
    {
        ProxyError.LoginRequired => "Basic realm=\"Tunnel2\", charset=\"UTF-8\"",
        ProxyError.SignInRequired => "Tunnel2-SignIn realm=\"Tunnel2\"",
        ProxyError.TokenRequired => "Bearer realm=\"Tunnel2\"",
        ProxyError.TokenInvalid => "Bearer realm=\"Tunnel2\", error=\"invalid_token\"",
        ProxyError.TokenExpired => "Bearer realm=\"Tunnel2\", error=\"invalid_token\", error_description=\"The token has expired\"",
        _ => null,
    };

    /// <summary>Whether the visitor, not this system, is at fault: such errors are logged as Debug.</summary>
    public bool IsVisitorsFault => Leg == ProxyErrorLeg.Visitor || Status < 500;

    /// <summary>
    /// Whether rules about who may visit turned the visitor away: the server did what its settings say. The limit of a tier is none of
    /// them.
    /// </summary>
    public bool IsRefusal => Leg == ProxyErrorLeg.Entry && Error != ProxyError.RateLimit && Status is (401 or 403 or 429);

    /// <summary>The value of <c>Proxy-Status</c> (RFC 9209): this proxy, the error type and the title.</summary>
    public string ProxyStatus => ProxyStatusOf(node: null);

    /// <summary>The same, with the node of a cluster.</summary>
    /// <param name="node">The node's id; null outside of a cluster.</param>
    public string ProxyStatusOf(string? node) =>
        $"Tunnel2; error={ProxyStatusType}; details=\"{Title}\"{(node is null ? "" : $"; node=\"{node}\"")}";
}
