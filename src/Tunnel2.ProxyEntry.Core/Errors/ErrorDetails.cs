namespace Tunnel2.ProxyEntry.Errors;

/// <summary>Details of one failed request. The default value has none, so that a constant body can be sent.</summary>
internal readonly record struct ErrorDetails
{
    /// <summary>The public address of the request. It may come from the visitor, so it is escaped, and cut after 200 characters.</summary>
    public string? Address { get; init; }

    /// <summary>The id of the request in logs. Escaped, and cut after 200 characters.</summary>
    public string? RequestId { get; init; }

    /// <summary>Replaces the error's own <c>Retry-After</c>, in whole seconds from 0 on.</summary>
    public int? RetryAfterSeconds { get; init; }

    /// <summary>
    /// The node of a cluster that failed the request; null outside of a cluster. An id of the settings, so it needs no escape.
    /// </summary>
    public string? Node { get; init; }

    /// <summary>Whether there are no details.</summary>
    public bool IsEmpty => Address is null && RequestId is null && RetryAfterSeconds is null && Node is null;
}
