namespace Tunnel2.Client.Core.Configuration;

/// <summary>A name under which a tunnel is to be public. Each has a session of its own. Immutable.</summary>
/// <param name="Name">A name below the server's domain, or a domain, which has a dot.</param>
/// <param name="RedirectTo">The URL, without a path, to which its visitors are sent; null: they reach the service.</param>
internal sealed record WantedName(string Name, string? RedirectTo = null);
