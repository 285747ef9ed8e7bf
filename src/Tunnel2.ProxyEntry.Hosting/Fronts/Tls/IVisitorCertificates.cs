using System.Net.Security;

namespace Tunnel2.ProxyEntry.Fronts.Tls;

/// <summary>Which certificate a visitor is shown. Thread-safe.</summary>
internal interface IVisitorCertificates
{
    /// <summary>The certificate for a handshake, with its chain.</summary>
    /// <param name="serverName">The name that the visitor asks for (SNI); null or empty where it names none.</param>
    SslStreamCertificateContext Find(string? serverName);
}
