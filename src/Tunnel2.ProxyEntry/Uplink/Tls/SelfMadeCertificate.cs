using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Uplink.Tls;

/// <summary>
/// The certificate that ProxyEntry makes on its first start where nobody gave one, and finds again on every later one: agents pin its
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
    /// <exception cref="IOException">It cannot be kept; the message says where and what to set instead.</exception>
    public static CertificateSource FindOrCreate(ProxyEntrySettings settings, DateTimeOffset now, out bool isNew)
    {
        var path = Path.Combine(settings.StateFolder, FileName);
        try
        {
            isNew = !File.Exists(path);
            if (isNew)
            {
                StateFolder.Create(settings.StateFolder);
                Write(path, CreatePem(settings.Domain, now));
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

    private static string CreatePem(string domain, DateTimeOffset now)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=tunnel2 uplink", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        foreach (var name in new[] { domain, "localhost", Dns.GetHostName() }.Where(IsDnsName).Distinct(StringComparer.OrdinalIgnoreCase))
        {
            names.AddDnsName(name);
        }

        names.AddIpAddress(IPAddress.Loopback);
        names.AddIpAddress(IPAddress.IPv6Loopback);
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(false, false, 0, true));
        request.CertificateExtensions.Add(new X509KeyUsageExtension(X509KeyUsageFlags.DigitalSignature, true));
        request.CertificateExtensions.Add(new X509EnhancedKeyUsageExtension([new Oid("1.3.6.1.5.5.7.3.1", "serverAuth")], false));
        using var certificate = request.CreateSelfSigned(now - _clockSkew, now.AddYears(YearsValid));
        return certificate.ExportCertificatePem() + "\n" + key.ExportPkcs8PrivateKeyPem() + "\n";
    }

    /// <summary>Written beside and moved: whoever reads sees a whole file, and of two first starts at once one wins.</summary>
    private static void Write(string path, string pem)
    {
        var temporary = $"{path}.{Environment.ProcessId}";
        var options = new FileStreamOptions { Mode = FileMode.Create, Access = FileAccess.Write };
        if (!OperatingSystem.IsWindows())
        {
            options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        }

        using (var writer = new StreamWriter(temporary, options))
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

    private static bool IsDnsName(string name) => name.Length > 0 && Uri.CheckHostName(name) == UriHostNameType.Dns;
}
