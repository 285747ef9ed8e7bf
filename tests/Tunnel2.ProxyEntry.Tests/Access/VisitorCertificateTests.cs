using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Tunnel2.ProxyEntry.Access;

namespace Tunnel2.ProxyEntry.Tests.Access;

public sealed class VisitorCertificateTests
{
    private static readonly DateTimeOffset _now = new(2026, 6, 1, 12, 0, 0, TimeSpan.Zero);

    [Theory]
    [InlineData("CN=alice, O=Example", "CN=alice, O=Example")]
    [InlineData("CN=a\r\nX-Admin: 1", "CN=a%0D%0AX-Admin: 1")]
    [InlineData("CN=bücher", "CN=b%C3%BCcher")]
    [InlineData("CN=100%25", "CN=100%2525")]
    public void A_subject_becomes_a_value_that_a_field_can_have(string subject, string user) =>
        Assert.Equal(user, Encoding.ASCII.GetString(VisitorCertificate.UserOf(subject)));

    [Fact]
    public void A_certificate_counts_no_more_on_its_connection_when_the_one_that_issued_it_has_ended()
    {
        using var root = Issue("CN=root", null, _now.AddDays(-1), _now.AddDays(10), isAuthority: true);
        using var between = Issue("CN=between", root, _now.AddDays(-1), _now.AddMinutes(10), isAuthority: true);
        using var alice = Issue("CN=alice", between, _now.AddDays(-1), _now.AddDays(5), isAuthority: false);
        var policy = PolicyOf(root);
        var shown = Show(alice, between);
        Assert.True(shown.Suits(policy, _now));
        Assert.True(shown.Suits(policy, _now.AddMinutes(9)));
        Assert.False(shown.Suits(policy, _now.AddMinutes(10) + VisitorCertificate.VerdictLife));
    }

    [Fact]
    public void A_certificate_that_begins_later_is_right_from_then_on()
    {
        using var root = Issue("CN=root", null, _now.AddDays(-1), _now.AddDays(10), isAuthority: true);
        using var alice = Issue("CN=alice", root, _now.AddMinutes(1), _now.AddDays(5), isAuthority: false);
        var policy = PolicyOf(root);
        var shown = Show(alice);
        Assert.False(shown.Suits(policy, _now));
        Assert.True(shown.Suits(policy, _now.AddMinutes(1) + VisitorCertificate.VerdictLife));
    }

    [Fact]
    public void A_long_subject_is_cut() => Assert.Equal(512, VisitorCertificate.UserOf("CN=" + new string('a', 5000)).Length);

    private static AccessPolicy PolicyOf(X509Certificate2 root) =>
        new([new AccessSet([], [], []) { Authorities = new ClientAuthoritySet([root]) }], new LoginBudget());

    private static VisitorCertificate Show(X509Certificate2 certificate, params X509Certificate2[] others)
    {
        using var chain = new X509Chain();
        chain.ChainPolicy.ExtraStore.AddRange(others);
        var shown = new VisitorCertificate("web");
        shown.Keep(certificate, chain);
        return shown;
    }

    private static X509Certificate2 Issue(
        string subject, X509Certificate2? issuer, DateTimeOffset from, DateTimeOffset to, bool isAuthority)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest(subject, key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(isAuthority, false, 0, true));
        if (issuer is null)
        {
            return request.CreateSelfSigned(from, to);
        }

        using var signer = issuer.GetECDsaPrivateKey()!;
        using var issued = request.Create(
            issuer.SubjectName, X509SignatureGenerator.CreateForECDsa(signer), from, to, [1, .. RandomNumberGenerator.GetBytes(8)]);
        return issued.CopyWithPrivateKey(key);
    }
}
