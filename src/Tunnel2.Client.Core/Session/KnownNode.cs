using Tunnel2.Client.Core.Configuration;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Session;

/// <summary>A node that a server has announced, and how to reach it. Immutable.</summary>
/// <param name="Node">What was announced.</param>
/// <param name="Options">How a session with it is opened: as with the server that announced it, to another address.</param>
/// <param name="Urls">The public URLs of the session in which it was announced: those of its cluster.</param>
/// <param name="By">The server that announced it last.</param>
/// <param name="HeardAt">When it was announced first, a timestamp.</param>
/// <param name="Wait">How long it is left alone after that.</param>
internal sealed record KnownNode(
    AnnouncedNode Node, AgentOptions Options, IReadOnlyList<string> Urls, ServerEndpoint By, long HeardAt, TimeSpan Wait);
