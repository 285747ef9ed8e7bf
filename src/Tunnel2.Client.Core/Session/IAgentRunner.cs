using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Client.Core.Session;

/// <summary>Runs one agent: the seam between the command line and the tunnel.</summary>
internal interface IAgentRunner
{
    /// <summary>
    /// Whether what runs the tunnels still works: its event loops have done a round since this was asked last. One thread at a time asks.
    /// </summary>
    bool IsServing => true;

    /// <summary>
    /// Holds a session until <paramref name="stop"/> is cancelled (then drains and returns 0) or there is no use in trying again.
    /// </summary>
    /// <returns>One of <see cref="Diagnostics.AgentExitCode"/>.</returns>
    Task<int> RunAsync(AgentOptions options, IAgentEvents events, CancellationToken stop);
}
