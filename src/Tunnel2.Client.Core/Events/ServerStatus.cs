using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Core.Events;

/// <summary>One of the servers with which an agent has sessions at the same time. Immutable.</summary>
/// <param name="Server">The server.</param>
/// <param name="IsConnected">Whether there is a session with it that takes requests.</param>
/// <param name="Message">Why there is none, in one line; null: there is one, or it is not known yet.</param>
public sealed record ServerStatus(ServerEndpoint Server, bool IsConnected, string? Message);
