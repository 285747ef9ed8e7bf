namespace Tunnel2.Client.Core.Console;

/// <summary>Formats the events of several tunnels, each by its own formatter: what was said last is remembered for each.</summary>
internal sealed class TunnelsEventFormatter : IAgentEventFormatter
{
    /// <summary>Formatters that are remembered: tunnels come and go with their file.</summary>
    private const int Most = 16 * 1024;

    private readonly Dictionary<string, IAgentEventFormatter> _byTunnel;
    private readonly IAgentEventFormatter _common;
    private readonly Func<string, IAgentEventFormatter>? _create;

    /// <param name="byTunnel">A formatter for each tunnel, by its name.</param>
    /// <param name="common">For what concerns none or all of them.</param>
    /// <param name="create">Makes the formatter of a tunnel that came later; null: none comes.</param>
    public TunnelsEventFormatter(
        IReadOnlyDictionary<string, IAgentEventFormatter> byTunnel,
        IAgentEventFormatter common,
        Func<string, IAgentEventFormatter>? create = null)
    {
        _byTunnel = new Dictionary<string, IAgentEventFormatter>(byTunnel);
        _common = common;
        _create = create;
    }

    public ValueTask WriteAsync(AgentEvent agentEvent, TextWriter output, CancellationToken cancellationToken) =>
        Find(agentEvent.Tunnel).WriteAsync(agentEvent, output, cancellationToken);

    private IAgentEventFormatter Find(string? tunnel)
    {
        if (tunnel is null)
        {
            return _common;
        }

        if (_byTunnel.TryGetValue(tunnel, out IAgentEventFormatter? own))
        {
            return own;
        }

        if (_create?.Invoke(tunnel) is not { } made)
        {
            return _common;
        }

        if (_byTunnel.Count >= Most)
        {
            _byTunnel.Clear();
        }

        return _byTunnel[tunnel] = made;
    }
}
