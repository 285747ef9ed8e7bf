namespace Tunnel2.Client.Core.Http2;

/// <summary>What a service's first bytes on a connection were.</summary>
internal enum Http2Start
{
    /// <summary>SETTINGS, as the protocol says: it may be used.</summary>
    Ready,

    /// <summary>Something else: it does not speak HTTP/2.</summary>
    OtherProtocol,

    /// <summary>It ended before it said anything.</summary>
    Closed,
}
