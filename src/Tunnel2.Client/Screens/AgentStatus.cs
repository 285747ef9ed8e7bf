namespace Tunnel2.Client.Screens;

/// <summary>What the agent is doing.</summary>
internal enum AgentStatus
{
    Connecting,
    Online,

    /// <summary>There is no session; the next attempt comes.</summary>
    Waiting,
    Draining,
    Stopped,
}
