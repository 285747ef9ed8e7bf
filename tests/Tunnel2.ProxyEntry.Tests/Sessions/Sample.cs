using Tunnel2.Multiplexing.Session;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Tests.Sessions;

/// <summary>Sessions for tests.</summary>
internal static class Sample
{
    public static EntrySession Session(string name, string agentId = "a", AgentGrant? grant = null, string? holder = null) =>
        Session(name, AgentIdentity.OfToken(agentId), default, grant, holder);

    /// <summary>A session that wants to share its name.</summary>
    /// <param name="member">Its place in the pool.</param>
    /// <param name="instance">The number of the running agent.</param>
    /// <param name="owner">Who it is.</param>
    /// <param name="rules">Who may visit.</param>
    /// <param name="kind">What it carries.</param>
    /// <param name="port">Its public port; 0: it has none.</param>
    public static EntrySession Member(
        PoolMember member, int instance, string owner = "a", AccessRules? rules = null, SessionKind kind = SessionKind.Http, int port = 0)
    {
        var identity = AgentIdentity.OfToken(owner);
        return Session("web", identity, identity, null, null, member, AgentIdentity.OfInstance([(byte)instance]), rules, kind, port);
    }

    public static EntrySession Session(
        string name, AgentIdentity identity, AgentIdentity owner, AgentGrant? grant = null, string? holder = null,
        PoolMember? member = null, AgentIdentity instance = default, AccessRules? rules = null,
        SessionKind kind = SessionKind.Http, int port = 0) => new()
        {
            Kind = kind,
            Lease = port == 0 ? null : new SampleLease(port),
            Member = member,
            Instance = instance,
            OwnRules = rules,
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

    private sealed class SampleLease(int port) : PortLease
    {
        public override int Port => port;

        protected override void End()
        {
            // The port is no real one.
        }
    }
}
