namespace Tunnel2.Transport.WebSockets;

/// <summary>The words for a WebSocket whose frames were broken.</summary>
internal static class WebSocketFaultWords
{
    public static string For(WebSocketFault fault)
    {
        var what = fault switch
        {
            WebSocketFault.Extension => "reserved bits are set, as compression does",
            WebSocketFault.Mask => "the mask is missing or should not be there",
            WebSocketFault.Opcode => "an unknown kind of frame came",
            WebSocketFault.Text => "a text message came, and the uplink sends binary ones",
            WebSocketFault.Control => "a control frame is too long or in fragments",
            WebSocketFault.Fragment => "the fragments of a message are out of order",
            WebSocketFault.Length => "a length is not valid",
            WebSocketFault.Close => "a Close frame has no valid code",
            WebSocketFault.Reason => "the reason of a Close frame is not UTF-8",
            _ => "very many frames carried nothing",
        };
        return $"The frames of the WebSocket were changed on the way, or the peer broke RFC 6455: {what}";
    }
}
