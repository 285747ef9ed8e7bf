namespace Tunnel2.Client.Core.Console;

/// <summary>The events of one tunnel among several that share an output.</summary>
internal sealed class TunnelEvents : AgentEventSource
{
    private readonly AgentEventWriter _writer;
    private readonly string _tunnel;

    public TunnelEvents(AgentEventWriter writer, string tunnel, TimeProvider time)
        : base(time, writer.WantsRequests)
    {
        _writer = writer;
        _tunnel = tunnel;
    }

    /// <inheritdoc/>
    public override void Post(AgentEvent agentEvent) => _writer.Post(agentEvent with { Tunnel = _tunnel });
}
