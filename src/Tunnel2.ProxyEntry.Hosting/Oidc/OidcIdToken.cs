using Microsoft.IdentityModel.JsonWebTokens;
using Tunnel2.ProxyEntry.Access.Bearer;

namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>
/// What an ID token has to be before ASP.NET Core's handler looks at it: that takes one without a signature, because it comes from the
/// provider itself. Stateless.
/// </summary>
internal static class OidcIdToken
{
    /// <summary>Signatures by a private key. Those by a shared secret, and none at all, are not among them.</summary>
    public static readonly string[] Algorithms =
        ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"];

    /// <summary>
    /// Whether a token has the form of one, has a signature that has to be right, and asks for nothing that is not known here.
    /// </summary>
    public static bool IsSigned(string? token)
    {
        try
        {
            var jwt = new JsonWebToken(token);
            return Array.IndexOf(Algorithms, jwt.Alg) >= 0 && jwt.EncodedSignature.Length > 0
                && !jwt.TryGetHeaderValue<object>("crit", out _) && TokenClaims.AreWellFormed(jwt);
        }
        catch (Exception exception) when (exception is not OutOfMemoryException)
        {
            // The library throws for much that is no token.
            return false;
        }
    }
}
