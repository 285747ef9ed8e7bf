using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// Reads the files of <see cref="TlsOptions"/> and of a proxy. All throw IOException, UnauthorizedAccessException,
/// CryptographicException or ArgumentException where a file cannot be used.
/// </summary>
internal static class TlsFiles
{
    /// <summary>Characters that a file may have: far more than all authorities of a system.</summary>
    private const int Longest = 4 * 1024 * 1024;

    /// <summary>The text of a PEM file, up to a limit: a device has no end, and no other large file is one.</summary>
    public static string ReadPem(string path)
    {
        using var reader = new StreamReader(path);
        var text = new StringBuilder();
        char[] buffer = new char[16 * 1024];
        while (reader.Read(buffer) is > 0 and var count)
        {
            text.Append(buffer, 0, count);
            if (text.Length > Longest)
            {
                throw new IOException($"It has more than {Longest} characters.");
            }
        }

        return text.ToString();
    }

    /// <summary>The authorities of the server; null: those of the system.</summary>
    public static X509Certificate2Collection? LoadAuthorities(TlsOptions options) =>
        options.ServerCaFile is { } path ? LoadAuthorities(path) : null;

    /// <summary>The authorities in a PEM file, at least one.</summary>
    public static X509Certificate2Collection LoadAuthorities(string path)
    {
        var authorities = new X509Certificate2Collection();
        authorities.ImportFromPem(ReadPem(path));
        return authorities.Count > 0 ? authorities : throw new CryptographicException("It has no certificate.");
    }

    /// <summary>The agent's own certificate with its chain; null: none.</summary>
    public static SslStreamCertificateContext? LoadClientCertificate(TlsOptions options)
    {
        if (options.ClientCertificateFile is not { } path)
        {
            return null;
        }

        var text = ReadPem(path);
        var leaf = X509Certificate2.CreateFromPem(text, options.ClientKeyFile is { } key ? ReadPem(key) : text);
        var chain = new X509Certificate2Collection();
        chain.ImportFromPem(text);
        return SslStreamCertificateContext.Create(leaf, chain, offline: true);
    }
}
