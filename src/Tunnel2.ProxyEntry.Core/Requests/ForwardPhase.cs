namespace Tunnel2.ProxyEntry.Requests;

/// <summary>What a forwarded request waits for.</summary>
internal enum ForwardPhase
{
    /// <summary>No request is running.</summary>
    Idle,

    /// <summary>Bytes of the request's body.</summary>
    Upload,

    /// <summary>The response's head.</summary>
    Head,

    /// <summary>Bytes of a body, of either direction.</summary>
    Body,

    /// <summary>Nothing that has a limit: the connection was upgraded.</summary>
    Upgraded,
}
