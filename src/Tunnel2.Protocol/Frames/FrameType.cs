namespace Tunnel2.Protocol.Frames;

/// <summary>The kinds of frame (docs/protocol.md, "Frames"). The low five bits of the header's fourth byte.</summary>
public enum FrameType : byte
{
    /// <summary>Never sent: a header of zeros is malformed.</summary>
    None = 0,

    /// <summary>The agent's first frame on the first uplink of a session.</summary>
    Hello = 1,

    /// <summary>ProxyEntry's answer that accepts a HELLO or a JOIN.</summary>
    Welcome = 2,

    /// <summary>ProxyEntry's answer that refuses a HELLO or a JOIN; the connection ends after it.</summary>
    Reject = 3,

    /// <summary>The agent's first frame on a further uplink of a session.</summary>
    Join = 4,

    /// <summary>A header block (request, response, 1xx or trailers), and after it the first body bytes that are available.</summary>
    Headers = 5,

    /// <summary>Body bytes, or raw bytes of an upgraded exchange.</summary>
    Data = 6,

    /// <summary>Ends both directions of a stream at once, with a reason.</summary>
    Rst = 7,

    /// <summary>Grants further credit to a stream, or to the uplink on stream 0.</summary>
    Window = 8,

    /// <summary>Asks for, or with <see cref="FrameFlags.Ack"/> gives, a sign of life.</summary>
    Ping = 9,

    /// <summary>Announces the end of the session, in two steps.</summary>
    GoAway = 10,

    /// <summary>How the agent's own check found its service. Its number is one that no example of an unknown type has.</summary>
    Service = 13,

    /// <summary>Which other nodes of the cluster there are now, to an agent whose session runs.</summary>
    Nodes = 14,
}
