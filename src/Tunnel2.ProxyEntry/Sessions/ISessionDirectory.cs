namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>How a registration ended.</summary>
internal enum RegistrationStatus
{
    /// <summary>The name now leads to the session.</summary>
    Registered,

    /// <summary>Another identity holds the name.</summary>
    NameTaken,
}

/// <summary>What a registration gave.</summary>
/// <param name="Status">How it ended.</param>
/// <param name="Epoch">The registration's number: higher than that of any before it under the name.</param>
/// <param name="Superseded">The session that held the name until now and that takes requests still, or null.</param>
internal readonly record struct RegistrationResult(RegistrationStatus Status, long Epoch, EntrySession? Superseded);

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

    /// <summary>Registers a session under its name. The same identity takes its name over at once; another one is refused unless the holder hands over.</summary>
    ValueTask<RegistrationResult> RegisterAsync(EntrySession session, CancellationToken cancellationToken);

    /// <summary>
    /// Takes note that a session's agent is about to stop: it is sent requests as before, also when it had said goodbye already, and gives way to
    /// anybody who may claim the name. A registration of another epoch stays untouched.
    /// </summary>
    ValueTask MarkHandingOverAsync(string name, long epoch, CancellationToken cancellationToken);

    /// <summary>
    /// Takes note that a session's agent has said goodbye: nothing new is sent to it, and the name is free for anybody who may claim it. A
    /// registration of another epoch stays untouched.
    /// </summary>
    ValueTask MarkLeavingAsync(string name, long epoch, CancellationToken cancellationToken);

    /// <summary>Removes a registration; one of another epoch stays untouched.</summary>
    ValueTask UnregisterAsync(string name, long epoch, CancellationToken cancellationToken);

    /// <summary>Looks up a name. On the path of every request: does not wait, does not allocate.</summary>
    /// <param name="name">The name in lower case.</param>
    /// <param name="session">The session that serves it.</param>
    NameState Find(ReadOnlySpan<char> name, out EntrySession? session);

    /// <summary>Why and since when a name has no session. Only for names that <see cref="Find"/> did not find online, or that opened no stream.</summary>
    /// <param name="name">The name in lower case.</param>
    NameAbsence GetAbsence(ReadOnlySpan<char> name);

    /// <summary>Raised with each name that was registered, or is served again, once a look-up finds the session. Handlers must not block or throw.</summary>
    event Action<string>? Registered;

    /// <summary>All sessions as they are now.</summary>
    IReadOnlyList<EntrySession> Snapshot();
}
