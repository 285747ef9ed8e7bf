namespace Tunnel2.Client.Core.Backend;

/// <summary>How many interim responses a service may send before its answer.</summary>
internal static class InterimLimits
{
    /// <summary>
    /// So many reach the visitor; those after them are dropped, as any proxy may do (RFC 9110 section 15.2). ProxyEntry takes no more
    /// than twice as many (docs/protocol.md section 9).
    /// </summary>
    public const int PassedOn = 16;

    /// <summary>A service that sends more is broken. A long task may report every few seconds that it continues (102).</summary>
    public const int Taken = 1000;
}
