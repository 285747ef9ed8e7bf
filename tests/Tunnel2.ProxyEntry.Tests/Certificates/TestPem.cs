using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Tunnel2.ProxyEntry.Tests.Certificates;

/// <summary>Makes certificates that no authority signed.</summary>
internal static class TestPem
{
    /// <summary>Makes one for names; its parts as PEM.</summary>
    public static (string Certificate, string Key) Make(DateTimeOffset from, DateTimeOffset to, params string[] names)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=test", key, HashAlgorithmName.SHA256);
        if (names.Length > 0)
        {
            var builder = new SubjectAlternativeNameBuilder();
            foreach (var name in names)
            {
                if (IPAddress.TryParse(name, out var address))
                {
                    builder.AddIpAddress(address);
                }
                else
                {
                    builder.AddDnsName(name);
                }
            }

            request.CertificateExtensions.Add(builder.Build());
        }

        using var certificate = request.CreateSelfSigned(from, to);
        return (certificate.ExportCertificatePem() + "\n", key.ExportPkcs8PrivateKeyPem() + "\n");
    }
}
