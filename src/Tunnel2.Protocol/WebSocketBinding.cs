namespace Tunnel2.Protocol;

/// <summary>Where and how an uplink opens over WebSocket (docs/protocol.md section 2).</summary>
internal static class WebSocketBinding
{
    /// <summary>The path of the opening handshake, on the public listeners.</summary>
    public static ReadOnlySpan<byte> Path => "/_tunnel2/uplink"u8;

    /// <summary>The subprotocol that both sides name.</summary>
    public static ReadOnlySpan<byte> Subprotocol => "tunnel2.1"u8;
}
