namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>What the provider says of a visitor, after all checks of the handler. Immutable.</summary>
/// <param name="Email">The address of mail, if the provider verified it or the gate trusts it; null otherwise.</param>
/// <param name="Groups">The groups.</param>
/// <param name="Target">Where the sign-in leads.</param>
internal sealed record OidcTicket(string? Email, string[] Groups, string? Target);
