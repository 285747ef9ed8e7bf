using System.Text;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>Constant answers of a gate.</summary>
internal static class OidcPages
{
    /// <summary>A path below the gate's prefix that it does not know.</summary>
    public static ErrorResponse NotFound { get; } = Page(404, "There is no such page here.", []);

    /// <summary>The session has ended; browsers forget its cookie.</summary>
    public static ErrorResponse LoggedOut { get; } = Page(
        200,
        "You are signed out of this tunnel. You may still be signed in at the provider.",
        [new("Set-Cookie", SignInCookie.Name + "=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax")]);

    private static ErrorResponse Page(int status, string text, KeyValuePair<string, string>[] headers) => new(
        status,
        [
            new("Content-Type", "text/plain; charset=utf-8"),
            new("Cache-Control", "no-store"),
            new("X-Content-Type-Options", "nosniff"),
            .. headers,
        ],
        Encoding.UTF8.GetBytes(text + "\n"));
}
