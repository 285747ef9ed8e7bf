using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// Reads the files of <see cref="TlsOptions"/> and of a proxy. All throw IOException, UnauthorizedAccessException,
/// CryptographicException or ArgumentException where a file cannot be used.
/// </summary>
internal static class TlsFiles
{
    /// <summary>The authorities of the server; null: those of the system.</summary>
    public static X509Certificate2Collection? LoadAuthorities(TlsOptions options) =>
        options.ServerCaFile is { } path ? LoadAuthorities(path) : null;

    /// <summary>The authorities in a PEM file, at least one.</summary>
    public static X509Certificate2Collection LoadAuthorities(string path)
    {
        var authorities = new X509Certificate2Collection();
        authorities.ImportFromPem(TextFile.Read(path));
        return authorities.Count > 0 ? authorities : throw new CryptographicException("It has no certificate.");
    }

    /// <summary>The agent's own certificate with its chain; null: none.</summary>
    public static SslStreamCertificateContext? LoadClientCertificate(TlsOptions options)
    {
        if (options.ClientCertificateFile is not { } path)
        {
            return null;
        }

        var text = TextFile.Read(path);
        var leaf = X509Certificate2.CreateFromPem(text, options.ClientKeyFile is { } key ? TextFile.Read(key) : text);
        var chain = new X509Certificate2Collection();
        chain.ImportFromPem(text);
        return SslStreamCertificateContext.Create(leaf, chain, offline: true);
    }
}
