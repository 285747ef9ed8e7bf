namespace Tunnel2.ProxyEntry.Requests;

/// <summary>How a request gets from its visitor's event loop to that of its uplink.</summary>
internal enum LoopPath
{
    /// <summary>It is the same loop, or there are none.</summary>
    Same,

    /// <summary>The visitor's connection went to the uplink's.</summary>
    Moved,

    /// <summary>The visitor's connection stays where it is: each byte crosses.</summary>
    Crossed,
}
