namespace Tunnel2.ProxyEntry.Agents;

/// <summary>Visitors show a token (JWT) of this issuer for this audience. Immutable.</summary>
/// <param name="Issuer">The issuer.</param>
/// <param name="Audience">The audience that a token has to be for.</param>
internal sealed record ForcedTokens(TokenIssuer Issuer, string Audience);
