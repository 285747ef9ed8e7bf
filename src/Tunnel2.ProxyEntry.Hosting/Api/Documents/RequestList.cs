using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>The last requests of a session, the newest first.</summary>
internal sealed record RequestList
{
    [Description("The requests.")]
    public required IReadOnlyList<RequestInfo> Requests { get; init; }

    [Description("In a cluster: the nodes that were asked.")]
    public IReadOnlyList<NodeStateInfo>? Nodes { get; init; }
}
