namespace Tunnel2.Client.Core.Console;

/// <summary>The events of one tunnel among several that share an output.</summary>
internal sealed class TunnelEvents : AgentEventSource
{
    private readonly AgentEventWriter _writer;
    private readonly string _tunnel;
    private readonly Action<AgentEvent>? _observe;

    public TunnelEvents(AgentEventWriter writer, string tunnel, TimeProvider time, Action<AgentEvent>? observe = null)
        : base(time, writer.WantsRequests)
    {
        _observe = observe;
        _writer = writer;
        _tunnel = tunnel;
    }

    /// <inheritdoc/>
    public override void Post(AgentEvent agentEvent)
    {
        if (_observe is { } observe && agentEvent is not RequestCompletedEvent)
        {
            observe(agentEvent);
        }

        _writer.Post(agentEvent with { Tunnel = _tunnel });
    }
}
