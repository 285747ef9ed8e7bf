namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>What a visitor's connection does: it decides which limit of time holds.</summary>
internal enum ConnectionPhase : byte
{
    /// <summary>It is new, and nothing has been sent on it.</summary>
    New,

    /// <summary>It waits for the next request.</summary>
    Idle,

    /// <summary>A request's head has begun.</summary>
    Head,

    /// <summary>A request is with the forwarder.</summary>
    Exchange,

    /// <summary>Bytes are read only to be thrown away, so that an answer is not lost to a reset.</summary>
    Draining,

    /// <summary>Its limit has passed, or the server stops: whoever reads on it is told.</summary>
    Expired,
}
