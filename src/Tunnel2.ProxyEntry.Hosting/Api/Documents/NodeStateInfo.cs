using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>What a list of several nodes has of one of them.</summary>
internal sealed record NodeStateInfo
{
    [Description("The node.")]
    public required string Node { get; init; }

    [Description("up; busy, lost or older: the list has nothing of it.")]
    public required string State { get; init; }

    [Description("Why the list has nothing of it.")]
    public string? Problem { get; init; }
}
