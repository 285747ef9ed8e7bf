namespace Tunnel2.Inspection.Messages;

/// <summary>What a message is.</summary>
internal enum MessageKind
{
    /// <summary>Text of a WebSocket.</summary>
    Text,

    /// <summary>Bytes of a WebSocket.</summary>
    Binary,

    /// <summary>A WebSocket's ping.</summary>
    Ping,

    /// <summary>A WebSocket's pong.</summary>
    Pong,

    /// <summary>A WebSocket's close, with its code and reason.</summary>
    Close,

    /// <summary>An event of a stream of server-sent events.</summary>
    Event,

    /// <summary>The bytes are not WebSocket frames: no more messages are read in this direction.</summary>
    Broken,
}
