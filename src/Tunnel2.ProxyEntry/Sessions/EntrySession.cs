using Tunnel2.Multiplexing.Session;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>A session as ProxyEntry knows it: the tunnel, and the registration it stands for. Immutable but for the tunnel's own state.</summary>
internal sealed class EntrySession
{
    public required TunnelSession Tunnel { get; init; }

    /// <summary>16 random bytes.</summary>
    public required ReadOnlyMemory<byte> SessionId { get; init; }

    /// <summary>What a JOIN must prove to know. A secret.</summary>
    public required ReadOnlyMemory<byte> JoinSecret { get; init; }

    public required string Name { get; init; }

    public required AgentIdentity Identity { get; init; }

    /// <summary>By what the agent was admitted; null without a token or certificate.</summary>
    public AgentGrant? Grant { get; init; }

    public required string AgentVersion { get; init; }

    /// <summary>The session id as logs show it.</summary>
    public string DisplayId => Convert.ToHexStringLower(SessionId.Span[..4]);
}
