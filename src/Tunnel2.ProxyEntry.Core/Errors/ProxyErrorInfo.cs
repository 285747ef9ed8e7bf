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

    /// <summary>Whether the visitor, not this system, is at fault: such errors are logged as Debug.</summary>
    public bool IsVisitorsFault => Leg == ProxyErrorLeg.Visitor || Status < 500;

    /// <summary>The value of <c>Proxy-Status</c> (RFC 9209): this proxy, the error type and the title.</summary>
    public string ProxyStatus => $"Tunnel2; error={ProxyStatusType}; details=\"{Title}\"";
}
