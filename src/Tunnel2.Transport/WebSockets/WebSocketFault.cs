namespace Tunnel2.Transport.WebSockets;

/// <summary>How a peer, or something on the way, broke the frames of a WebSocket that carries an uplink.</summary>
internal enum WebSocketFault
{
    /// <summary>It did not.</summary>
    None = 0,

    /// <summary>A bit is set that belongs to an extension, and none was agreed on.</summary>
    Extension,

    /// <summary>A client's frame without a mask, or a server's with one.</summary>
    Mask,

    /// <summary>An opcode that RFC 6455 does not know.</summary>
    Opcode,

    /// <summary>A text message; an uplink is binary.</summary>
    Text,

    /// <summary>A control frame that is too long or in fragments.</summary>
    Control,

    /// <summary>A fragment without a beginning, or a message inside another one.</summary>
    Fragment,

    /// <summary>A length with its highest bit set, or one that a shorter form could have said.</summary>
    Length,

    /// <summary>A Close frame with half a code, or with one that must not be sent.</summary>
    Close,

    /// <summary>A Close frame whose reason is not UTF-8.</summary>
    Reason,

    /// <summary>Very many frames in a row that carry nothing.</summary>
    Flood,
}
