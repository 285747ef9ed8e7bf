using Microsoft.AspNetCore.Http.Features;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>
/// The scheme of a request. Behind a balancer that ends TLS, visitors' requests of HTTP/2 say <c>https</c> on a connection without TLS; so
/// the pseudo field decides nothing, since any visitor may write it.
/// </summary>
internal static class RequestScheme
{
    /// <summary>Whether a visitor's connection is encrypted.</summary>
    public static bool IsTls(IFeatureCollection features) => features.Get<ITlsConnectionFeature>() is not null;

    /// <summary>What the pseudo field may say.</summary>
    public static bool IsOfHttp(string scheme) =>
        scheme.Equals(Uri.UriSchemeHttp, StringComparison.OrdinalIgnoreCase)
        || scheme.Equals(Uri.UriSchemeHttps, StringComparison.OrdinalIgnoreCase);

    /// <summary>The scheme by which a visitor came.</summary>
    public static string Of(bool isTls) => isTls ? Uri.UriSchemeHttps : Uri.UriSchemeHttp;
}
