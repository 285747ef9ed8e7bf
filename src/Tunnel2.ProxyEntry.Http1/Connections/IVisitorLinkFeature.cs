namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// Connection feature: whether sent bytes still reach the visitor. TLS accepts bytes also when the connection below it is broken, so code
/// that writes has to look here.
/// </summary>
internal interface IVisitorLinkFeature
{
    /// <summary>
    /// Whether the connection is broken: reset, or unacknowledged for too long. A visitor that has only ended its own direction in order is
    /// not lost. Once true it stays true. From any thread.
    /// </summary>
    bool IsLost { get; }

    /// <summary>Bytes that were sent and that the visitor's system has not acknowledged; 0 if unknown. Costs a system call.</summary>
    int Undelivered { get; }

    /// <summary>
    /// Whether <see cref="Undelivered"/> counts every byte of a finished flush. If not, some may still be on their way to the system.
    /// </summary>
    bool SeesAllSent { get; }
}
