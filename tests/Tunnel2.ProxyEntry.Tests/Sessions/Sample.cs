using Tunnel2.Multiplexing.Session;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Tests.Sessions;

/// <summary>Sessions for tests.</summary>
internal static class Sample
{
    public static EntrySession Session(string name, string agentId = "a", AgentGrant? grant = null, string? holder = null) =>
        Session(name, AgentIdentity.OfToken(agentId), default, grant, holder);

    public static EntrySession Session(
        string name, AgentIdentity identity, AgentIdentity owner, AgentGrant? grant = null, string? holder = null) => new()
        {
            Tunnel = new TunnelSession(),
            SessionId = new byte[16],
            JoinSecret = new byte[32],
            Name = name,
            Identity = identity,
            Owner = owner,
            Grant = grant,
            Holder = holder,
            AgentVersion = "0",
        };
}
