namespace Tunnel2.Client.Core.Console;

/// <summary>Formats the events of several tunnels, each by its own formatter: what was said last is remembered for each.</summary>
internal sealed class TunnelsEventFormatter : IAgentEventFormatter
{
    private readonly IReadOnlyDictionary<string, IAgentEventFormatter> _byTunnel;
    private readonly IAgentEventFormatter _common;

    /// <param name="byTunnel">A formatter for each tunnel, by its name.</param>
    /// <param name="common">For what concerns none or all of them.</param>
    public TunnelsEventFormatter(IReadOnlyDictionary<string, IAgentEventFormatter> byTunnel, IAgentEventFormatter common)
    {
        _byTunnel = byTunnel;
        _common = common;
    }

    public ValueTask WriteAsync(AgentEvent agentEvent, TextWriter output, CancellationToken cancellationToken)
    {
        IAgentEventFormatter formatter = agentEvent.Tunnel is { } tunnel && _byTunnel.TryGetValue(tunnel, out IAgentEventFormatter? own)
            ? own
            : _common;
        return formatter.WriteAsync(agentEvent, output, cancellationToken);
    }
}
