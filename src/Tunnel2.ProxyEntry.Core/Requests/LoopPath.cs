namespace Tunnel2.ProxyEntry.Requests;

/// <summary>How a request gets from its visitor's event loop to its uplink's.</summary>
internal enum LoopPath
{
    /// <summary>Both are on the same loop, or there are no loops.</summary>
    Same,

    /// <summary>The visitor's connection moved to the uplink's loop.</summary>
    Moved,

    /// <summary>The visitor's connection stays on its loop, and each byte crosses between the loops.</summary>
    Crossed,
}
