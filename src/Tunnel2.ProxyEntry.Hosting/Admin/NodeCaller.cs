namespace Tunnel2.ProxyEntry.Admin;

/// <summary>
/// Marks a call that another node has allowed and passed here: it is answered with what this node has, and goes no further.
/// </summary>
/// <param name="Node">That node, as its certificate says.</param>
/// <param name="Credential">What the caller has shown there, for the log.</param>
internal sealed record NodeCaller(string Node, string Credential)
{
    /// <summary>The mark of a call; null: it came to this node's own listener.</summary>
    public static NodeCaller? Of(HttpContext http) => http.Features.Get<NodeCaller>();

    /// <summary>Who calls, for the log: the address, and the node that was asked where it was another one.</summary>
    public static string? Describe(HttpContext http)
    {
        var address = http.Connection.RemoteIpAddress?.ToString();
        return Of(http) is { Node: var node } && node.Length > 0 ? $"{address} at node {node}" : address;
    }
}
