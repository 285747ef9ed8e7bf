
namespace Tunnel2.Client.Core.Console;

/// <summary>Writes events as lines. Only ever called by one task at a time, so it may keep state.</summary>
internal interface IAgentEventFormatter
{
    /// <summary>Writes the lines of one event, perhaps none.</summary>
    ValueTask WriteAsync(AgentEvent agentEvent, TextWriter output, CancellationToken cancellationToken);
}
