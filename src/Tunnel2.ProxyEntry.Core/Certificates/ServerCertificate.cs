using System.Globalization;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>
/// A loaded certificate, in the form that handshakes use. Immutable: running handshakes may use it after another one has replaced it.
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
        Names = NamesOf(leaf);
    }

    public SslStreamCertificateContext Context { get; }

    public CertificateFingerprint Fingerprint { get; }

    public DateTime NotBefore { get; }

    public DateTime NotAfter { get; }

    public string Subject { get; }

    /// <summary>The first DNS names that it is for, for people to read; empty where it has none.</summary>
    public string Names { get; }

    /// <summary>The end of its validity, for people to read.</summary>
    public string Until => NotAfter.ToString("yyyy-MM-dd HH:mm'Z'", CultureInfo.InvariantCulture);

    /// <summary>What operators see of it.</summary>
    public CertificateFacts Facts => new(Subject, Fingerprint.ToString(), NotBefore, NotAfter) { Names = Names };

    /// <summary>Loads it from the files; throws as <see cref="CertificateSource.Load"/> does.</summary>
    public static ServerCertificate Load(CertificateSource source)
    {
        var chain = new X509Certificate2Collection();
        return Create(source.Load(chain), chain);
    }

    /// <summary>Makes it from a certificate with its key, and the certificates between it and its authority.</summary>
    public static ServerCertificate Create(X509Certificate2 leaf, X509Certificate2Collection chain)
    {
        // Offline: missing certificates are not fetched from the network while a handshake waits.
        return new ServerCertificate(SslStreamCertificateContext.Create(leaf, chain, offline: true), leaf);
    }

    private static string NamesOf(X509Certificate2 leaf)
    {
        try
        {
            return NamedCertificate.Words(NamedCertificate.NamesOf(leaf));
        }
        catch (CryptographicException)
        {
            // Its list of names cannot be read: handshakes do not need it.
            return "";
        }
    }
}
