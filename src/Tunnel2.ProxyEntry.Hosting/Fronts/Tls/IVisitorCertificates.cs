using System.Net.Security;

namespace Tunnel2.ProxyEntry.Fronts.Tls;

/// <summary>The certificates for visitors. Thread-safe.</summary>
internal interface IVisitorCertificates
{
    /// <summary>The certificate for a handshake, with its chain.</summary>
    /// <param name="serverName">The name that the visitor asks for (SNI); null or empty if there is none.</param>
    SslStreamCertificateContext Find(string? serverName);
}
