using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>A certificate for <c>*.localhost</c> in a file of its own, which is deleted in the end.</summary>
internal sealed class TestCertificate : IDisposable
{
    private TestCertificate(string file) => File = file;

    public string File { get; }

    public static TestCertificate Create()
    {
        var file = Path.Combine(Path.GetTempPath(), $"tunnel2-{Guid.NewGuid():N}.pem");
        using var certificate = SelfMadeCertificate.Create();
        System.IO.File.WriteAllText(file, SelfMadeCertificate.ToPem(certificate));
        return new TestCertificate(file);
    }

    public void Dispose() => System.IO.File.Delete(File);
}
