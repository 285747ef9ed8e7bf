namespace Tunnel2.Client.Core.Reconnect;

/// <summary>The other sessions of an agent, which serve its visitors while one of them is away. Thread-safe.</summary>
internal interface IOtherSessions
{
    /// <summary>Whether there is one that takes requests.</summary>
    bool Exist { get; }

    /// <summary>Waits until there is none that takes requests.</summary>
    /// <param name="unless">Ends the wait.</param>
    /// <returns>Whether there is none.</returns>
    Task<bool> WhenNoneAsync(Task unless);
}
