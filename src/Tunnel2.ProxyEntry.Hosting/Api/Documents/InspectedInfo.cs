using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>A session that is inspected.</summary>
internal sealed record InspectedInfo
{
    [Description("The name.")]
    public required string Name { get; init; }

    [Description("The service where it is known: never at ProxyEntry.")]
    public required string Upstream { get; init; }

    [Description("Where visitors reach it.")]
    public required IReadOnlyList<string> Urls { get; init; }

    [Description("How many bytes of a body are kept.")]
    public required int BodyLimit { get; init; }

    [Description("Until when it is inspected.")]
    public DateTimeOffset? Until { get; init; }

    [Description("In a cluster: the nodes that inspect it now.")]
    public IReadOnlyList<string>? At { get; init; }
}
