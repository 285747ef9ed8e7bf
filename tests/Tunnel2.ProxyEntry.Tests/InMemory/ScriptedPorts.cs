using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>Ports without listeners: port 1 belongs to another agent, every other one is free, and TLS is not carried.</summary>
internal sealed class ScriptedPorts : ITunnelPorts
{
    /// <summary>What was given back: the port, and whether it is kept.</summary>
    public List<(int Port, bool IsKept)> Returned { get; } = [];

    /// <summary>Ports that were given.</summary>
    public int Given { get; private set; }

    public string? FindObstacle(SessionKind kind) => kind == SessionKind.Tcp ? null : $"There is no {kind} here.";

    public ValueTask<TunnelPort> TakeAsync(
        SessionKind kind, string name, AgentIdentity owner, int wanted, bool takesAnother, CancellationToken cancellationToken)
    {
        if (wanted == 1 && !takesAnother)
        {
            return ValueTask.FromResult(new TunnelPort(
                null, new RejectMessage(RejectCode.PortNotAvailable, TimeSpan.Zero, "The port 1 belongs to another agent.")));
        }

        Given++;
        return ValueTask.FromResult(new TunnelPort(new Lease(this, wanted > 1 ? wanted : 20_000), null));
    }

    private sealed class Lease(ScriptedPorts ports, int port) : PortLease
    {
        public override int Port => port;

        protected override void End() => ports.Returned.Add((port, IsKept));
    }
}
