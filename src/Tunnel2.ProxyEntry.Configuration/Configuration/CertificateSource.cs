using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The files of a server certificate and its private key. They can be loaded again after a renewal. Immutable.</summary>
internal sealed class CertificateSource
{
    private readonly string? _keyPath;
    private readonly string? _password;

    public CertificateSource(string path, string? keyPath, string? password)
    {
        Path = path;
        _keyPath = keyPath;
        _password = password;
    }

    /// <summary>The file with the certificate.</summary>
    public string Path { get; }

    /// <summary>The files to watch for a renewal.</summary>
    public IReadOnlyList<string> Files => _keyPath is null ? [Path] : [Path, _keyPath];

    /// <summary>Loads the certificate with its private key; the caller disposes of it.</summary>
    /// <param name="intermediates">Receives the other certificates of the file, which TLS also sends.</param>
    /// <exception cref="CryptographicException">The file is not a certificate, has no private key, or the password is wrong.</exception>
    /// <exception cref="IOException">The file cannot be read.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not read the file.</exception>
    public X509Certificate2 Load(X509Certificate2Collection intermediates)
    {
        var certificate = IsPkcs12 ? LoadPkcs12(intermediates) : LoadPem(intermediates);
        if (!certificate.HasPrivateKey)
        {
            certificate.Dispose();
            throw new CryptographicException("The file has no private key.");
        }

        return certificate;
    }

    /// <summary>The path only, because a password must not get into a log.</summary>
    public override string ToString() => Path;

    private bool IsPkcs12 =>
        Path.EndsWith(".pfx", StringComparison.OrdinalIgnoreCase) || Path.EndsWith(".p12", StringComparison.OrdinalIgnoreCase);

    private X509Certificate2 LoadPkcs12(X509Certificate2Collection intermediates)
    {
        SettingFile.Require(Path);
        X509Certificate2? leaf = null;
        foreach (var certificate in X509CertificateLoader.LoadPkcs12CollectionFromFile(Path, _password))
        {
            if (leaf is null && certificate.HasPrivateKey)
            {
                leaf = certificate;
            }
            else
            {
                intermediates.Add(certificate);
            }
        }

        return leaf ?? throw new CryptographicException("The file has no private key.");
    }

    private X509Certificate2 LoadPem(X509Certificate2Collection intermediates)
    {
        SettingFile.Require(Path);
        if (_keyPath is not null)
        {
            SettingFile.Require(_keyPath);
        }

        var leaf = _password is null
            ? X509Certificate2.CreateFromPemFile(Path, _keyPath)
            : X509Certificate2.CreateFromEncryptedPemFile(Path, _password, _keyPath);
        var all = new X509Certificate2Collection();
        all.ImportFromPemFile(Path);
        PemCertificate.AddOthers(all, leaf, intermediates);
        return PemCertificate.Usable(leaf);
    }
}
