using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Telemetry.Files;

namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>
/// The certificate that ProxyEntry makes at its first start when the settings give none. Every later start finds it again: agents pin its
/// fingerprint, so it must not change.
/// </summary>
internal static class SelfMadeCertificate
{
    /// <summary>The file in the state folder: certificate and key, readable by its owner only.</summary>
    public const string FileName = "uplink.pem";

    private static readonly TimeSpan _clockSkew = TimeSpan.FromDays(1);
    private const int YearsValid = 10;

    /// <summary>Finds the certificate, or makes it.</summary>
    /// <param name="settings">Folder and domain.</param>
    /// <param name="now">The time.</param>
    /// <param name="isNew">Whether it was made now.</param>
    /// <exception cref="IOException">The file cannot be written; the message says where and which setting to use instead.</exception>
    public static CertificateSource FindOrCreate(ProxyEntrySettings settings, DateTimeOffset now, out bool isNew)
    {
        var path = Path.Combine(settings.StateFolder, FileName);
        try
        {
            isNew = !File.Exists(path);
            if (isNew)
            {
                StateFolder.Create(settings.StateFolder);
                Create(path, [settings.Domain, Dns.GetHostName(), "localhost", "127.0.0.1", "::1"], now);
            }
            else
            {
                OwnerOnlyFile.Narrow(path);
            }

            return new CertificateSource(path, null, null);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw new IOException(
                $"The self-made certificate of the uplink cannot be kept in {settings.StateFolder}: {exception.Message} "
                + "Set Tunnel2:StateFolder to a folder that lasts, or Tunnel2:Uplink:Certificate to a certificate of your own.",
                exception);
        }
    }

    /// <summary>Makes a certificate with its key in a file that only its owner can read. A file that exists already stays.</summary>
    /// <param name="path">The file.</param>
    /// <param name="hosts">Names and addresses that the certificate is for; other texts are left out.</param>
    /// <param name="now">The time.</param>
    public static void Create(string path, IEnumerable<string> hosts, DateTimeOffset now) => Write(path, CreatePem(hosts, now));

    private static string CreatePem(IEnumerable<string> hosts, DateTimeOffset now)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=tunnel2 uplink", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(SubjectNames(hosts));
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(false, false, 0, true));
        request.CertificateExtensions.Add(new X509KeyUsageExtension(X509KeyUsageFlags.DigitalSignature, true));
        request.CertificateExtensions.Add(new X509EnhancedKeyUsageExtension([new Oid("1.3.6.1.5.5.7.3.1", "serverAuth")], false));
        using var certificate = request.CreateSelfSigned(now - _clockSkew, now.AddYears(YearsValid));
        return certificate.ExportCertificatePem() + "\n" + key.ExportPkcs8PrivateKeyPem() + "\n";
    }

    /// <summary>Whether a text is a name, an address or a wildcard name (<c>*.example.com</c>).</summary>
    public static bool IsHost(string host) =>
        IPAddress.TryParse(host, out _)
            || Uri.CheckHostName(host.StartsWith("*.", StringComparison.Ordinal) ? host[2..] : host) == UriHostNameType.Dns;

    /// <summary>Names and addresses as a certificate has them; other texts are left out.</summary>
    public static X509Extension SubjectNames(IEnumerable<string> hosts)
    {
        var names = new SubjectAlternativeNameBuilder();
        foreach (var host in hosts.Distinct(StringComparer.OrdinalIgnoreCase))
        {
            if (IPAddress.TryParse(host, out var address))
            {
                names.AddIpAddress(address);
            }
            else if (IsHost(host))
            {
                names.AddDnsName(host);
            }
        }

        return names.Build();
    }

    /// <summary>
    /// Writes a file beside the path and moves it there, so readers see a whole file. Of two first starts at once, one wins.
    /// </summary>
    public static void Write(string path, string pem)
    {
        var temporary = $"{path}.{Guid.NewGuid():N}";
        using (var writer = new StreamWriter(OwnerOnlyFile.Open(temporary, FileMode.CreateNew, FileAccess.Write, FileShare.None)))
        {
            writer.Write(pem);
        }

        try
        {
            File.Move(temporary, path, overwrite: false);
        }
        catch (IOException) when (File.Exists(path))
        {
            File.Delete(temporary);
        }
    }
}
