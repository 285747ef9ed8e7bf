using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

#if TEST_BACKEND
namespace Tunnel2.TestBackend;
#else
namespace Tunnel2.TestUtilities;
#endif

/// <summary>Makes servers' certificates that no client trusts.</summary>
/// <remarks>This file is compiled into the test utilities (public) and into the test backend (internal).</remarks>
#if TEST_BACKEND
internal
#else
public
#endif
static class SelfMadeCertificate
{
    /// <summary>Makes one for <c>localhost</c>, all below it and this machine's own addresses, valid from yesterday for a month.</summary>
    public static X509Certificate2 Create()
    {
        var now = TimeProvider.System.GetUtcNow();
        return Create("localhost", now.AddDays(-1), now.AddDays(30));
    }

    /// <summary>Makes one for this machine with a name and a time of the caller's.</summary>
    /// <param name="name">The common name.</param>
    /// <param name="from">Valid from.</param>
    /// <param name="to">Valid to.</param>
    public static X509Certificate2 Create(string name, DateTimeOffset from, DateTimeOffset to)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        names.AddDnsName("*.localhost");
        names.AddIpAddress(IPAddress.Loopback);
        names.AddIpAddress(IPAddress.IPv6Loopback);
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(false, false, 0, true));
        request.CertificateExtensions.Add(new X509KeyUsageExtension(X509KeyUsageFlags.DigitalSignature, true));
        request.CertificateExtensions.Add(new X509EnhancedKeyUsageExtension([new Oid("1.3.6.1.5.5.7.3.1")], false));
        return request.CreateSelfSigned(from, to);
    }

    /// <summary>A certificate and its key, as settings and flags read them from a file.</summary>
    public static string ToPem(X509Certificate2 certificate)
    {
        using var key = certificate.GetECDsaPrivateKey()!;
        return certificate.ExportCertificatePem() + "\n" + key.ExportPkcs8PrivateKeyPem();
    }
}
