using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Console;

/// <summary>Rules for visitors that no visitor can meet at a server.</summary>
internal static class VisitorWarning
{
    /// <summary>In one line, or null: nothing is wrong.</summary>
    /// <param name="access">Who may visit, as the agent asks for it.</param>
    /// <param name="publicUrls">As the server gave them.</param>
    public static string? Of(AccessRules? access, IReadOnlyList<string> publicUrls) =>
        access is { ClientAuthorities.Count: > 0 }
        && !publicUrls.Any(static url => url.StartsWith("https:", StringComparison.OrdinalIgnoreCase))
            ? "No visitor gets in: --client-ca wants certificates, and the server has no HTTPS to show them"
            : null;
}
