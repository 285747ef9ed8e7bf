using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>
/// Calls a provider. Its discovery document names the addresses, and it may lie or be out of date: a provider of HTTPS gets the server's
/// secret and a visitor's code over HTTPS alone. Thread-safe.
/// </summary>
/// <param name="authority">The provider, as the settings name it.</param>
/// <param name="inner">Makes the connections; this disposes of it.</param>
internal sealed class OidcBackchannel(Uri authority, HttpMessageHandler inner) : DelegatingHandler(inner)
{
    /// <summary>No provider's page has a longer address; a longer one, browsers and proxies refuse.</summary>
    private const int LongestAddress = 16 * 1024;

    /// <summary>Whether a visitor's browser may be sent to an address that the provider names.</summary>
    /// <param name="authority">The provider, as the settings name it.</param>
    /// <param name="address">The address, with what the server adds to it.</param>
    public static bool MayLeadTo(Uri authority, string address) => address.Length is > 0 and <= LongestAddress
        && !address.AsSpan().ContainsAnyExceptInRange('!', '~')
        && Uri.TryCreate(address, UriKind.Absolute, out var page) && IsSafe(authority, page);

    /// <inheritdoc/>
    protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken) =>
        request.RequestUri is { IsAbsoluteUri: true } address && IsSafe(authority, address)
            ? base.SendAsync(request, cancellationToken)
            : throw new HttpRequestException("The provider names an address that is not HTTPS.");

    private static bool IsSafe(Uri authority, Uri address) =>
        TokenIssuer.IsSafe(address, mayBePlain: authority.Scheme == Uri.UriSchemeHttp);
}
