namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// Connection feature: how what was sent fares on its way to the visitor. TLS between us and the connection goes on taking what it is given
/// when the connection is long broken, so whoever writes has to look here.
/// </summary>
internal interface IVisitorLinkFeature
{
    /// <summary>
    /// Whether the connection is broken: reset, or without an answer for too long. A visitor that has only ended its own direction in order
    /// is still there. From any thread; never back.
    /// </summary>
    bool IsLost { get; }

    /// <summary>
    /// Bytes that were sent and that the visitor's system has not taken yet; 0 where that is not known. Costs a system call.
    /// </summary>
    int Undelivered { get; }
}
