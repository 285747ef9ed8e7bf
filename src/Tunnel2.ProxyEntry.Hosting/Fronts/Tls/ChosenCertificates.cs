using System.Net.Security;
using Tunnel2.ProxyEntry.Certificates;

namespace Tunnel2.ProxyEntry.Fronts.Tls;

/// <summary>Looks for the certificate of a name in several places, and falls back to one for all other names. Thread-safe.</summary>
/// <param name="places">The places, the preferred one first.</param>
/// <param name="others">The certificates for all other names.</param>
internal sealed class ChosenCertificates(IReadOnlyList<INamedCertificates> places, IVisitorCertificates others) : IVisitorCertificates
{
    /// <inheritdoc/>
    public SslStreamCertificateContext Find(string? serverName)
    {
        if (!string.IsNullOrEmpty(serverName))
        {
            var name = serverName.ToLowerInvariant().TrimEnd('.');
            foreach (var place in places)
            {
                if (place.Find(name) is { } certificate)
                {
                    return certificate.Context;
                }
            }
        }

        return others.Find(serverName);
    }
}
