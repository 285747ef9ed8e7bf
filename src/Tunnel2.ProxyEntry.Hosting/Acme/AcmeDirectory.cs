namespace Tunnel2.ProxyEntry.Acme;

/// <summary>What a certificate authority offers (RFC 8555 section 7.1.1).</summary>
/// <param name="NewNonce">Where nonces come from.</param>
/// <param name="NewAccount">Where accounts are made.</param>
/// <param name="NewOrder">Where certificates are ordered.</param>
/// <param name="RenewalInfo">Where it says when to renew (RFC 9773), or null.</param>
/// <param name="IsAccountBound">Whether it makes accounts only for those that it knows.</param>
internal sealed record AcmeDirectory(Uri NewNonce, Uri NewAccount, Uri NewOrder, Uri? RenewalInfo, bool IsAccountBound);
