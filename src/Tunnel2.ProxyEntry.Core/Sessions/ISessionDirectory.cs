namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>How a registration ended.</summary>
internal enum RegistrationStatus
{
    /// <summary>The name now leads to the session.</summary>
    Registered,

    /// <summary>Another identity has the name, or it is still kept for another owner.</summary>
    NameTaken,

    /// <summary>It is not known now which session has the name; the result's reason says why.</summary>
    Unavailable,

    /// <summary>The session cannot share the name with those that have it, or cannot have it alone; the result's reason says why.</summary>
    PoolNotPossible,

    /// <summary>As many sessions share the name as may; the result's reason says how many.</summary>
    PoolFull,
}

/// <summary>The result of a registration.</summary>
/// <param name="Status">How it ended.</param>
/// <param name="Epoch">The registration's number, higher than all earlier ones under the name.</param>
/// <param name="Superseded">The session that had the name until now and still takes requests, or null.</param>
/// <param name="FreeIn">
/// With <see cref="RegistrationStatus.NameTaken"/>: how long the name is still kept for its previous owner; zero while a session has it.
/// With <see cref="RegistrationStatus.Unavailable"/>: when to try again.
/// </param>
/// <param name="Reason">
/// With <see cref="RegistrationStatus.Unavailable"/>, <see cref="RegistrationStatus.PoolNotPossible"/> and
/// <see cref="RegistrationStatus.PoolFull"/>: why, as a sentence for the agent; otherwise null.
/// </param>
internal readonly record struct RegistrationResult(
    RegistrationStatus Status, long Epoch, EntrySession? Superseded, TimeSpan FreeIn = default, string? Reason = null);

/// <summary>What is known about a name.</summary>
internal enum NameState
{
    /// <summary>Nothing.</summary>
    Unknown,

    /// <summary>It was known lately, but no agent is connected, or the connected one has said goodbye.</summary>
    Offline,

    /// <summary>A session serves it.</summary>
    Online,
}

/// <summary>
/// Which session serves a name. All code that registers or looks up a session uses it, so it may be a table of this process or one that
/// several nodes share. Thread-safe.
/// </summary>
internal interface ISessionDirectory
{
    /// <summary>Sessions registered now.</summary>
    int Count { get; }

    /// <summary>
    /// Registers a session under its name. The same identity takes over its name at once, and so does the same owner when the present
    /// session hands over. Other identities are refused, also for a while after the session said goodbye or was lost, because its agent may
    /// be restarting. Sessions of one owner that want a pool (<see cref="EntrySession.Member"/>) share the name, and take over only from an
    /// older session of the same running agent. One process of an agent may have a session at each of several nodes
    /// (<see cref="EntrySession.IsSpread"/>), which take nothing from each other. While a session holds the name, one that wants a pool
    /// and one that does not refuse each other.
    /// </summary>
    ValueTask<RegistrationResult> RegisterAsync(EntrySession session, CancellationToken cancellationToken);

    /// <summary>
    /// A session's agent is about to stop. It gets requests as before, also if it had already said goodbye, until a successor of the same
    /// owner takes over. A registration of another epoch is not touched.
    /// </summary>
    ValueTask MarkHandingOverAsync(string name, long epoch, CancellationToken cancellationToken);

    /// <summary>
    /// A session's agent has said goodbye: it gets no new requests, and the name is kept for its owner for a while. A registration of
    /// another epoch is not touched.
    /// </summary>
    ValueTask MarkLeavingAsync(string name, long epoch, CancellationToken cancellationToken);

    /// <summary>Removes a registration; one of another epoch is not touched.</summary>
    /// <param name="name">The name.</param>
    /// <param name="epoch">The registration's number.</param>
    /// <param name="isKept">Whether the name is kept for its owner for a while; false when the right to it was withdrawn.</param>
    /// <param name="cancellationToken">Gives up.</param>
    ValueTask UnregisterAsync(string name, long epoch, bool isKept, CancellationToken cancellationToken);

    /// <summary>The agent of a pool says that its service works, or does not: <see cref="PoolMember.IsHealthy"/> has changed.</summary>
    void ReportHealth(EntrySession session);

    /// <summary>Looks up a name. Called for every request: it does not wait or allocate.</summary>
    /// <param name="name">The name in lower case.</param>
    /// <param name="session">
    /// The session that serves it. Of a pool it is any member: a request chooses one by its <see cref="EntrySession.Member"/>.
    /// </param>
    NameState Find(ReadOnlySpan<char> name, out EntrySession? session);

    /// <summary>
    /// Why and since when a name has no session. Only for names that <see cref="Find"/> did not find online, or that opened no stream.
    /// </summary>
    /// <param name="name">The name in lower case.</param>
    NameAbsence GetAbsence(ReadOnlySpan<char> name);

    /// <summary>
    /// Raised with each session that was registered or serves again, after <see cref="Find"/> finds it. Handlers must not block or throw.
    /// </summary>
    event Action<EntrySession>? Registered;

    /// <summary>All sessions as they are now.</summary>
    IReadOnlyList<EntrySession> Snapshot();
}
