using System.Net.Security;
using Tunnel2.ProxyEntry.Certificates;

namespace Tunnel2.ProxyEntry.Fronts.Tls;

/// <summary>One certificate for all names, from files that may be renewed.</summary>
internal sealed class FileCertificates(ReloadingCertificate certificate) : IVisitorCertificates
{
    /// <inheritdoc/>
    public SslStreamCertificateContext Find(string? serverName) => certificate.Current.Context;
}
