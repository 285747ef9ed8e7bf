namespace Tunnel2.ProxyEntry.Acme;

/// <summary>When a certificate is renewed.</summary>
/// <param name="Id">The certificate's id for its authority.</param>
/// <param name="RenewAt">When it is renewed.</param>
/// <param name="AskAt">When its authority is asked again.</param>
/// <param name="Suggested">What the authority has said, or null.</param>
internal sealed record AcmeWindow(
    string Id, DateTimeOffset RenewAt, DateTimeOffset AskAt, (DateTimeOffset Start, DateTimeOffset End)? Suggested);
