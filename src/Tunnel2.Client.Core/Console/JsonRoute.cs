namespace Tunnel2.Client.Core.Console;

/// <summary>A route, in a line of <c>--json</c>.</summary>
/// <param name="Path">The path that it is for, and all below.</param>
/// <param name="Upstream">The service.</param>
internal sealed record JsonRoute(string Path, string Upstream);
