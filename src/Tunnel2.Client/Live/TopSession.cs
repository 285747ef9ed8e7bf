namespace Tunnel2.Client.Live;

/// <summary>What is known of one session. Not thread-safe.</summary>
internal sealed class TopSession
{
    /// <summary>The latest window in which something ended, or null.</summary>
    public TopStatistics? Statistics { get; set; }

    /// <summary>Whether an agent is connected.</summary>
    public bool IsOnline { get; set; }

    /// <summary>The agent's name and version; empty while there is none.</summary>
    public string Agent { get; set; } = "";

    /// <summary>Connections of the agent to the server.</summary>
    public int Uplinks { get; set; }
}
