using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Access.Bearer;

/// <summary>A visitor has to show a token of this issuer for this audience. Immutable.</summary>
/// <param name="Issuer">The issuer.</param>
/// <param name="Audience">The audience.</param>
internal sealed record BearerRule(TokenIssuer Issuer, string Audience);
