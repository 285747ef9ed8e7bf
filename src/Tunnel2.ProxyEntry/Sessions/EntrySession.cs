using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Uplinks;

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

    public required string AgentVersion { get; init; }

    /// <summary>What the handshake of the first uplink settled; it holds for every uplink of the session.</summary>
    public UplinkSettings UplinkSettings { get; init; } = new() { Role = UplinkRole.Entry };

    /// <summary>The most uplinks at once.</summary>
    public int MaxUplinks { get; init; } = 1;

    /// <summary>The registration's number, given by the directory before anybody can join.</summary>
    public long Epoch { get; set; }

    /// <summary>When the session began, a timestamp of the host's time provider.</summary>
    public long StartedAt { get; set; }

    /// <summary>The session id as logs show it.</summary>
    public string DisplayId => Convert.ToHexStringLower(SessionId.Span[..4]);
}
