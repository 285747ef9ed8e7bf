namespace Tunnel2.Inspection.Serving;

/// <summary>
/// Learns what a caller of the inspector does that others have to be able to look up later. It gets no value of a request or answer.
/// Thread-safe.
/// </summary>
internal interface IInspectorAudit
{
    /// <summary>A replay is about to be sent.</summary>
    /// <param name="session">The session.</param>
    /// <param name="exchange">The exchange that is sent again.</param>
    /// <param name="isChanged">Whether the caller changed something of it.</param>
    /// <param name="by">Who wants it.</param>
    void ReplaySent(IInspectedSession session, long exchange, bool isChanged, string? by);

    /// <summary>An answer with secrets is about to be sent, because the caller asked for them.</summary>
    /// <param name="session">The session.</param>
    /// <param name="what">What the answer shows, in words.</param>
    /// <param name="by">Who wants it.</param>
    void SecretsShown(IInspectedSession session, string what, string? by);
}
