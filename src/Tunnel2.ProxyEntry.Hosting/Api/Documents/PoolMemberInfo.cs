using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>A session's place in the pool of its name.</summary>
internal sealed record PoolMemberInfo
{
    [Description("How many sessions share the name.")]
    public required int Members { get; init; }

    [Description("Whether its service works, as its agent finds; true for an agent that does not check.")]
    public required bool Healthy { get; init; }

    [Description("Whether it is spared for a moment, because its service took no connection.")]
    public required bool Spared { get; init; }

    [Description("Its share of the requests that it could get, in percent: less than 100 in a slow start.")]
    public required int Share { get; init; }
}
