using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>Certificates that sign themselves.</summary>
internal static class TestCertificate
{
    /// <summary>Writes one with its key, as PEM, for the names below localhost.</summary>
    public static async Task WriteAsync(string path)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=*.localhost", key, HashAlgorithmName.SHA256);
        using var certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
        await File.WriteAllTextAsync(path, certificate.ExportCertificatePem() + "\n" + key.ExportPkcs8PrivateKeyPem());
    }
}
