namespace Tunnel2.ProxyEntry.Errors;

/// <summary>What is particular to one failed request. The default value adds nothing and lets a constant body be sent.</summary>
internal readonly record struct ErrorDetails
{
    /// <summary>The public address that was asked for. May come from the visitor: it is escaped, and cut after 200 characters.</summary>
    public string? Address { get; init; }

    /// <summary>The id under which logs know the request. Escaped and cut likewise.</summary>
    public string? RequestId { get; init; }

    /// <summary>Overrides the error's own <c>Retry-After</c>, in whole seconds from 0 on.</summary>
    public int? RetryAfterSeconds { get; init; }

    /// <summary>Whether nothing is given.</summary>
    public bool IsEmpty => Address is null && RequestId is null && RetryAfterSeconds is null;
}
