using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>The agents that may connect with a token or a certificate, in the order of their ids.</summary>
internal sealed record AgentList
{
    [Description("The agents; one id may have several entries.")]
    public required IReadOnlyList<AgentInfo> Agents { get; init; }
}
