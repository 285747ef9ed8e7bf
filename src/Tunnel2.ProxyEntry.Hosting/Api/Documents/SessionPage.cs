using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>Sessions in the order of their names.</summary>
internal sealed record SessionPage
{
    [Description("The sessions of this page.")]
    public required IReadOnlyList<SessionInfo> Sessions { get; init; }

    [Description("How many pass the filter, on all pages.")]
    public required int Total { get; init; }

    [Description("What to give as 'after' for the next page; missing on the last.")]
    public string? Next { get; init; }

    [Description("In a cluster: the nodes that were asked.")]
    public IReadOnlyList<NodeStateInfo>? Nodes { get; init; }
}
