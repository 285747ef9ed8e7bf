using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Tunnel2.FunctionalTests.Uplinks.Security;

/// <summary>An authority of a test, which issues what the test wants.</summary>
internal sealed class TestAuthority : IDisposable
{
    private readonly X509Certificate2 _certificate;

    public TestAuthority(string name = "Tunnel2 test authority")
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        request.CertificateExtensions.Add(new X509KeyUsageExtension(X509KeyUsageFlags.KeyCertSign, true));
        _certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddYears(-2), DateTimeOffset.UtcNow.AddYears(2));
    }

    /// <summary>The authority as <c>--server-ca</c> and <c>Uplink:ClientCa</c> read it.</summary>
    public string Pem => _certificate.ExportCertificatePem();

    /// <summary>Issues a certificate, with its key after it as PEM.</summary>
    /// <param name="name">Common name and, where it is for a server, the name or address that it is for.</param>
    /// <param name="isServer">Whether it is for a server, or else for an agent.</param>
    /// <param name="from">Valid from, in days from now.</param>
    /// <param name="to">Valid to, in days from now.</param>
    /// <param name="issuer">Where it says that its authority's certificate is; null: nowhere.</param>
    public string Issue(string name, bool isServer = true, int from = -1, int to = 1, Uri? issuer = null)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        if (isServer)
        {
            var names = new SubjectAlternativeNameBuilder();
            if (IPAddress.TryParse(name, out var address))
            {
                names.AddIpAddress(address);
            }
            else
            {
                names.AddDnsName(name);
            }

            request.CertificateExtensions.Add(names.Build());
        }

        request.CertificateExtensions.Add(
            new X509EnhancedKeyUsageExtension([new Oid(isServer ? "1.3.6.1.5.5.7.3.1" : "1.3.6.1.5.5.7.3.2")], false));
        if (issuer is not null)
        {
            request.CertificateExtensions.Add(
                new X509AuthorityInformationAccessExtension(ocspUris: null, caIssuersUris: [issuer.AbsoluteUri]));
        }

        var now = DateTimeOffset.UtcNow;
        using var certificate = request.Create(_certificate, now.AddDays(from), now.AddDays(to), RandomNumberGenerator.GetBytes(8));
        return certificate.ExportCertificatePem() + "\n" + key.ExportPkcs8PrivateKeyPem() + "\n";
    }

    /// <summary>The fingerprint of the first certificate in a PEM text, as a setting has it.</summary>
    public static string Fingerprint(string pem)
    {
        using var certificate = X509Certificate2.CreateFromPem(pem);
        return "sha256:" + certificate.GetCertHashString(HashAlgorithmName.SHA256);
    }

    public void Dispose() => _certificate.Dispose();
}
