namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>What a visitor's connection does; this decides which time limit applies.</summary>
internal enum ConnectionPhase : byte
{
    /// <summary>It is new, and no byte has arrived.</summary>
    New,

    /// <summary>It waits for the next request.</summary>
    Idle,

    /// <summary>A request's head has begun.</summary>
    Head,

    /// <summary>A request is with the forwarder.</summary>
    Exchange,

    /// <summary>Bytes are read and dropped, so that a reset does not destroy the answer.</summary>
    Draining,

    /// <summary>Its limit has passed, or the server stops; the read ends.</summary>
    Expired,
}
