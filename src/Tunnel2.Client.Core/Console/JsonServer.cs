namespace Tunnel2.Client.Core.Console;

/// <summary>One of several servers, in a line of <c>--json</c>.</summary>
/// <param name="Server">The server.</param>
/// <param name="Connected">Whether there is a session with it.</param>
/// <param name="Message">Why there is none, or null.</param>
internal sealed record JsonServer(string Server, bool Connected, string? Message);
