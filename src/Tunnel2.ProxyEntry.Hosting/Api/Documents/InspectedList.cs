using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>
/// The sessions that are inspected. It describes what the inspector writes by itself, and what a cluster makes of the lists of its nodes.
/// </summary>
internal sealed record InspectedList
{
    [Description("Changes with every change of the inspector's page or of the program.")]
    public required string Build { get; init; }

    [Description("The sessions.")]
    public required IReadOnlyList<InspectedInfo> Sessions { get; init; }

    [Description("In a cluster: the nodes that were asked.")]
    public IReadOnlyList<NodeStateInfo>? Nodes { get; init; }
}
