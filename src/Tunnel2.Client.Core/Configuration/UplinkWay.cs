namespace Tunnel2.Client.Core.Configuration;

/// <summary>How an agent's uplinks reach the server.</summary>
public enum UplinkWay
{
    /// <summary>The uplink's own port; over WebSocket while that port cannot be reached.</summary>
    Auto = 0,

    /// <summary>The uplink's own port.</summary>
    Direct,

    /// <summary>A WebSocket at the server's public port.</summary>
    WebSocket,
}
