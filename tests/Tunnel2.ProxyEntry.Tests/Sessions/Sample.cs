using Tunnel2.Multiplexing.Session;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Tests.Sessions;

/// <summary>Sessions for tests.</summary>
internal static class Sample
{
    public static EntrySession Session(string name, string agentId = "a") => new()
    {
        Tunnel = new TunnelSession(),
        SessionId = new byte[16],
        JoinSecret = new byte[32],
        Name = name,
        Identity = AgentIdentity.OfToken(agentId),
        AgentVersion = "0",
    };
}
