using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Session;

/// <summary>What a session has to know of the other sessions of its agent. Thread-safe.</summary>
internal interface IClusterPlace
{
    /// <summary>Whether the server may say which other nodes there are.</summary>
    bool TakesNodes { get; }

    /// <summary>Whether the session is one of several, which take nothing from each other.</summary>
    bool IsOneOfSeveral { get; }

    /// <summary>The server has taken the session.</summary>
    /// <returns>Why the session must not continue, or null.</returns>
    Rejection? Welcomed(WelcomeMessage welcome);

    /// <summary>The server has sent another list of nodes while the session runs. Does not block.</summary>
    void Heard(NodeAnnouncement announcement);

    /// <summary>Completes when another session of the agent has taken the place of this one, which is to be left without a loss.</summary>
    Task WhenReplaced { get; }

    /// <summary>Waits until there is another session that takes requests.</summary>
    /// <param name="unless">Ends the wait.</param>
    /// <returns>Whether there is one.</returns>
    Task<bool> IsElsewhereAsync(Task unless);
}
