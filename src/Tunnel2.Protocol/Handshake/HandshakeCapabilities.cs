namespace Tunnel2.Protocol.Handshake;

/// <summary>
/// What a side can do beyond version 1's minimum (32 bits). Unknown bits are ignored; the answer has the bits of both sides.
/// </summary>
[Flags]
public enum HandshakeCapabilities : uint
{
    /// <summary>Version 1's minimum.</summary>
    None = 0,

    /// <summary>The session may have several uplinks (JOIN).</summary>
    MultipleUplinks = 1,

    /// <summary>The session may be of another kind than HTTP: HELLO and WELCOME have the fields about it.</summary>
    SessionKinds = 2,

    /// <summary>The session may say who may visit it: HELLO has the fields about it, and the server keeps to them.</summary>
    AccessRules = 4,

    /// <summary>The session may share its name with others of its owner: HELLO has the fields about it.</summary>
    Pools = 8,

    /// <summary>The connection is a node link: both sides are nodes of one cluster.</summary>
    NodeLink = 16,

    /// <summary>The agent has sessions under the name at several nodes of a cluster at once, which take nothing from each other.</summary>
    SeveralNodes = 32,

    /// <summary>
    /// The agent can have sessions at further nodes, if they are announced to it. In WELCOME: they are announced, and the session is as
    /// with <see cref="SeveralNodes"/>.
    /// </summary>
    AnnouncedNodes = 64,

    /// <summary>The agent hears of nodes that come and go while its session runs (NODES). Only with <see cref="AnnouncedNodes"/>.</summary>
    NodeNews = 128,

    /// <summary>HELLO says which sessions the agent has that run: a new one is not to cut what they carry.</summary>
    RunningSessions = 256,
}
