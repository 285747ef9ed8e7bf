namespace Tunnel2.Client.Live;

/// <summary>The known state of one session. Not thread-safe.</summary>
internal sealed class TopSession
{
    /// <summary>Its name.</summary>
    public string Name { get; init; } = "";

    /// <summary>The node of a cluster where it is, or null.</summary>
    public TopNode? Node { get; init; }

    /// <summary>Whether its node is lost, so that nothing is known of the present.</summary>
    public bool IsLost => Node is { IsUp: false };

    /// <summary>
    /// The latest windows in which a request ended, in the order of <see cref="TopFigures.WindowKeys"/>; null where there was none.
    /// </summary>
    public TopStatistics?[] Windows { get; } = new TopStatistics?[TopFigures.WindowKeys.Length];

    /// <summary>Whether an agent is connected.</summary>
    public bool IsOnline { get; set; }

    /// <summary>The agent's name and version; empty while there is none.</summary>
    public string Agent { get; set; } = "";

    /// <summary>Number of the agent's connections to the server.</summary>
    public int Uplinks { get; set; }
}
