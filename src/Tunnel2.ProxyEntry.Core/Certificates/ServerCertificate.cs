using System.Globalization;
using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>
/// A loaded certificate, in the form that handshakes use. Immutable; handshakes may still use it when another has taken its place.
/// </summary>
internal sealed class ServerCertificate
{
    private ServerCertificate(SslStreamCertificateContext context, X509Certificate2 leaf)
    {
        Context = context;
        Fingerprint = CertificateFingerprint.Of(leaf);
        NotBefore = leaf.NotBefore.ToUniversalTime();
        NotAfter = leaf.NotAfter.ToUniversalTime();
        Subject = leaf.Subject;
    }

    public SslStreamCertificateContext Context { get; }

    public CertificateFingerprint Fingerprint { get; }

    public DateTime NotBefore { get; }

    public DateTime NotAfter { get; }

    public string Subject { get; }

    /// <summary>When it ends, as a person reads it.</summary>
    public string Until => NotAfter.ToString("yyyy-MM-dd HH:mm'Z'", CultureInfo.InvariantCulture);

    /// <summary>Loads from the files; throws as <see cref="CertificateSource.Load"/> does.</summary>
    public static ServerCertificate Load(CertificateSource source)
    {
        var chain = new X509Certificate2Collection();
        return Create(source.Load(chain), chain);
    }

    /// <summary>Makes it of a certificate with its key and what stands between it and its authority.</summary>
    public static ServerCertificate Create(X509Certificate2 leaf, X509Certificate2Collection chain)
    {
        // Offline: what the file does not have is not looked for on the network while somebody waits.
        return new ServerCertificate(SslStreamCertificateContext.Create(leaf, chain, offline: true), leaf);
    }
}
