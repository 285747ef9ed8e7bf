namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>How a registration ended.</summary>
internal enum RegistrationStatus
{
    /// <summary>The name now leads to the session.</summary>
    Registered,

    /// <summary>Another identity holds the name, or it is still kept for another.</summary>
    NameTaken,
}

/// <summary>What a registration gave.</summary>
/// <param name="Status">How it ended.</param>
/// <param name="Epoch">The registration's number: higher than that of any before it under the name.</param>
/// <param name="Superseded">The session that held the name until now and that takes requests still, or null.</param>
/// <param name="FreeIn">With <see cref="RegistrationStatus.NameTaken"/>: how long the name is still kept for whoever has just left; zero
/// while it is held.</param>
internal readonly record struct RegistrationResult(
    RegistrationStatus Status, long Epoch, EntrySession? Superseded, TimeSpan FreeIn = default);

/// <summary>What is known of a name.</summary>
internal enum NameState
{
    /// <summary>Nothing.</summary>
    Unknown,

    /// <summary>It was seen lately, but no agent is connected, or the one that is has said goodbye.</summary>
    Offline,

    /// <summary>A session serves it.</summary>
    Online,
}

/// <summary>
/// Which session serves a name. Everything that registers or looks up a session goes through it, so that it may be a table of this process
/// or one that several nodes share. Thread-safe.
/// </summary>
internal interface ISessionDirectory
{
    /// <summary>Sessions registered now.</summary>
    int Count { get; }

    /// <summary>
    /// Registers a session under its name. The same identity takes its name over at once, and the same owner from a holder that hands over;
    /// another one is refused, also for a while after the session that had the name said goodbye or was lost: its agent may be restarting.
    /// </summary>
    ValueTask<RegistrationResult> RegisterAsync(EntrySession session, CancellationToken cancellationToken);

    /// <summary>
    /// Takes note that a session's agent is about to stop: it is sent requests as before, also when it had said goodbye already, and gives
    /// way to a successor of the same owner. A registration of another epoch stays untouched.
    /// </summary>
    ValueTask MarkHandingOverAsync(string name, long epoch, CancellationToken cancellationToken);

    /// <summary>
    /// Takes note that a session's agent has said goodbye: nothing new is sent to it, and the name is kept for its owner for a while. A
    /// registration of another epoch stays untouched.
    /// </summary>
    ValueTask MarkLeavingAsync(string name, long epoch, CancellationToken cancellationToken);

    /// <summary>Removes a registration; one of another epoch stays untouched.</summary>
    /// <param name="name">The name.</param>
    /// <param name="epoch">The registration's number.</param>
    /// <param name="isKept">Whether the name is kept for its owner for a while; not where the right to it was withdrawn.</param>
    /// <param name="cancellationToken">Gives up.</param>
    ValueTask UnregisterAsync(string name, long epoch, bool isKept, CancellationToken cancellationToken);

    /// <summary>Looks up a name. On the path of every request: does not wait, does not allocate.</summary>
    /// <param name="name">The name in lower case.</param>
    /// <param name="session">The session that serves it.</param>
    NameState Find(ReadOnlySpan<char> name, out EntrySession? session);

    /// <summary>
    /// Why and since when a name has no session. Only for names that <see cref="Find"/> did not find online, or that opened no stream.
    /// </summary>
    /// <param name="name">The name in lower case.</param>
    NameAbsence GetAbsence(ReadOnlySpan<char> name);

    /// <summary>
    /// Raised with each session that was registered, or is served again, once a look-up finds it. Handlers must not block or throw.
    /// </summary>
    event Action<EntrySession>? Registered;

    /// <summary>All sessions as they are now.</summary>
    IReadOnlyList<EntrySession> Snapshot();
}
