using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Transport.Tls;

namespace Tunnel2.Transport.Tests.Tls;

public class CertificateFingerprintTests
{
    private const string Digits = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    [Theory]
    [InlineData(Digits)]
    [InlineData("sha256:" + Digits)]
    [InlineData(" SHA256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef ")]
    [InlineData("01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF")]
    public void It_is_read_as_people_have_it(string text)
    {
        Assert.True(CertificateFingerprint.TryParse(text, out var fingerprint));
        Assert.Equal("sha256:" + Digits, fingerprint.ToString());
    }

    [Theory]
    [InlineData(null)]
    [InlineData("")]
    [InlineData("sha256:")]
    [InlineData("sha1:" + Digits)]
    [InlineData(Digits + "0")]
    [InlineData("g123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")]
    [InlineData("0:12:34:56:78:9A:BC:DE:F0:12:34:56:78:9A:BC:DE:F0:12:34:56:78:9A:BC:DE:F0:12:34:56:78:9A:BC:DEF")]
    public void Anything_else_is_refused(string? text) => Assert.False(CertificateFingerprint.TryParse(text, out _));

    [Fact]
    public void It_is_the_hash_of_the_whole_certificate()
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=a", key, HashAlgorithmName.SHA256);
        using var first = request.CreateSelfSigned(DateTimeOffset.UnixEpoch, DateTimeOffset.UnixEpoch.AddYears(90));
        using var second = request.CreateSelfSigned(DateTimeOffset.UnixEpoch, DateTimeOffset.UnixEpoch.AddYears(91));
        Assert.Equal("sha256:" + Convert.ToHexStringLower(SHA256.HashData(first.RawData)), CertificateFingerprint.Of(first).ToString());
        Assert.Equal(CertificateFingerprint.Of(first), CertificateFingerprint.Of(first));
        Assert.NotEqual(CertificateFingerprint.Of(first), CertificateFingerprint.Of(second));
    }
}
