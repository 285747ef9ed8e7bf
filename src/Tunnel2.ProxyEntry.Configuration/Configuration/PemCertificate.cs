using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Reads certificates from PEM. Stateless.</summary>
internal static class PemCertificate
{
    /// <summary>Loads a certificate with its private key; the caller disposes of it.</summary>
    /// <param name="chain">The certificate first, then those between it and its authority.</param>
    /// <param name="key">The text with the private key.</param>
    /// <param name="intermediates">Receives the other certificates of the chain.</param>
    /// <exception cref="CryptographicException">A text is not PEM, or the key belongs to another certificate.</exception>
    /// <exception cref="ArgumentException">The key is of another kind than that of the certificate.</exception>
    public static X509Certificate2 Load(ReadOnlySpan<char> chain, ReadOnlySpan<char> key, X509Certificate2Collection intermediates)
    {
        var leaf = Usable(X509Certificate2.CreateFromPem(chain, key));
        try
        {
            var all = new X509Certificate2Collection();
            all.ImportFromPem(chain);
            AddOthers(all, leaf, intermediates);
            return leaf;
        }
        catch
        {
            leaf.Dispose();
            throw;
        }
    }

    /// <summary>Adds all certificates but one; disposes of copies of that.</summary>
    public static void AddOthers(X509Certificate2Collection all, X509Certificate2 leaf, X509Certificate2Collection others)
    {
        foreach (var certificate in all)
        {
            if (certificate.RawDataMemory.Span.SequenceEqual(leaf.RawDataMemory.Span))
            {
                certificate.Dispose();
            }
            else
            {
                others.Add(certificate);
            }
        }
    }

    /// <summary>A certificate that TLS can use, in place of the one that is given up.</summary>
    public static X509Certificate2 Usable(X509Certificate2 leaf)
    {
        if (!OperatingSystem.IsWindows())
        {
            return leaf;
        }

        // Windows' TLS cannot use a key that is in memory only.
        using (leaf)
        {
            return X509CertificateLoader.LoadPkcs12(leaf.Export(X509ContentType.Pkcs12), null);
        }
    }
}
