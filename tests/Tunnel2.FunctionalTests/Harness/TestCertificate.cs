using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>A certificate for <c>*.localhost</c> in a file of its own, which is deleted in the end.</summary>
internal sealed class TestCertificate : IDisposable
{
    private TestCertificate(string file) => File = file;

    public string File { get; }

    public static TestCertificate Create()
    {
        var file = Path.Combine(Path.GetTempPath(), $"tunnel2-{Guid.NewGuid():N}.pem");
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=*.localhost", key, HashAlgorithmName.SHA256);
        using var certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
        System.IO.File.WriteAllText(file, certificate.ExportCertificatePem() + "\n" + key.ExportPkcs8PrivateKeyPem());
        return new TestCertificate(file);
    }

    public void Dispose() => System.IO.File.Delete(File);
}
