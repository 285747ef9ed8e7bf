namespace Tunnel2.ProxyEntry.Errors;

/// <summary>Which part of the request's path failed.</summary>
internal enum ProxyErrorLeg
{
    /// <summary>Between visitor and ProxyEntry: the request.</summary>
    Visitor,

    /// <summary>ProxyEntry itself.</summary>
    Entry,

    /// <summary>Between ProxyEntry and agent, the agent included.</summary>
    Uplink,

    /// <summary>Between agent and backend, the backend included.</summary>
    Backend,
}
