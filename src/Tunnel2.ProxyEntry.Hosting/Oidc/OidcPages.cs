using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>Constant answers of a gate.</summary>
internal static class OidcPages
{
    private const string SignInAgain = SignInPaths.Login + "?to=%2F";

    /// <summary>A path below the gate's prefix that it does not know.</summary>
    public static ErrorResponse NotFound { get; } = Page(
        404, "There is no such page here", "The sign-in of this tunnel has no page at this address.", "/", "Open the tunnel", []);

    /// <summary>The session has ended; browsers forget its cookie.</summary>
    public static ErrorResponse LoggedOut { get; } = Page(
        200,
        "You are signed out",
        "You are signed out of this tunnel. You may still be signed in at the provider.",
        SignInAgain,
        "Sign in again",
        [new("Set-Cookie", SignInCookie.Name + "=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax")]);

    /// <summary>A page of another site led here: the session lasts, and the link ends it, because this page is the tunnel's own.</summary>
    public static ErrorResponse NotLoggedOut { get; } = Page(
        403,
        "You are not signed out",
        "A page of another site has led here, and such a page cannot sign you out. Sign out here, if you want to.",
        SignInPaths.Logout,
        "Sign out",
        []);

    private static ErrorResponse Page(
        int status, string title, string text, string target, string label, KeyValuePair<string, string>[] headers) => new(
            status,
            [
                new("Content-Type", "text/html; charset=utf-8"),
                new("Cache-Control", "no-store"),
                new("X-Content-Type-Options", "nosniff"),
                new("Content-Security-Policy", ErrorPage.ContentSecurityPolicy),
                .. headers,
            ],
            ErrorPage.Render(title, text, target, label));
}
