using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>A session: one agent's registration of one name.</summary>
internal sealed record SessionInfo
{
    [Description("In a cluster: the node that has it.")]
    public string? Node { get; init; }

    [Description("The public name.")]
    public required string Name { get; init; }

    [Description("The session's id, as the log has it.")]
    public required string SessionId { get; init; }

    [Description("The agent's id; 'anonymous' for an agent without a token.")]
    public required string Agent { get; init; }

    [Description("The agent's version.")]
    public required string AgentVersion { get; init; }

    [Description("http, tcp, udp or tls.")]
    public required string Kind { get; init; }

    [Description("Where visitors call.")]
    public required IReadOnlyList<string> Urls { get; init; }

    [Description("When it began.")]
    public required DateTimeOffset Since { get; init; }

    [Description("serving; or leaving: it finishes what is under way.")]
    public required string State { get; init; }

    [Description("The tier, where one limits it.")]
    public string? Tier { get; init; }

    [Description("Until when an administrator inspects it, where one does.")]
    public DateTimeOffset? InspectedUntil { get; init; }

    [Description("Its place among the sessions that share its name, where several agents may.")]
    public PoolMemberInfo? Pool { get; init; }

    [Description("Requests under way.")]
    public required int OpenStreams { get; init; }

    [Description("Its connections.")]
    public required IReadOnlyList<UplinkInfo> Uplinks { get; init; }
}
