using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Cluster.Links;

namespace Tunnel2.ProxyEntry.Tests.Cluster.Links;

public sealed class NodeTrustTests : IDisposable
{
    private static readonly DateTimeOffset _now = new(2026, 5, 1, 12, 0, 0, TimeSpan.Zero);

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-trust-");

    [Fact]
    public void A_certificate_of_the_authority_is_that_of_its_node_on_both_sides()
    {
        Make(_now).Create();
        using var certificate = Issue(_now, "e1");
        foreach (var asServer in new[] { true, false })
        {
            Assert.Null(Judge(certificate, _now, asServer, "e1", out var node));
            Assert.Equal("e1", node);
            Assert.Null(Judge(certificate, _now, asServer, null, out node));
            Assert.Equal("e1", node);
        }

        Assert.Equal("its certificate is that of node e1, not of e2", Judge(certificate, _now, true, "e2", out _));
    }

    [Fact]
    public void One_that_is_not_valid_now_is_refused_with_its_dates()
    {
        Make(_now).Create();
        using var certificate = Issue(_now, "e1");
        Assert.StartsWith("its certificate has expired on 2026-05-31 12:00Z", Judge(certificate, _now.AddDays(31), true, "e1", out _));
        Assert.StartsWith("its certificate is valid only from 2026-04-30", Judge(certificate, _now.AddDays(-3), true, "e1", out _));
    }

    [Fact]
    public void One_of_another_authority_is_refused()
    {
        Make(_now).Create();
        var other = Path.Combine(_folder.FullName, "other");
        new ClusterAuthority(other, _now).Create();
        using var certificate = Load(new ClusterAuthority(other, _now).Issue("e1", TimeSpan.FromDays(30)));
        Assert.Equal("its certificate is of no authority of this cluster", Judge(certificate, _now, true, "e1", out _));
        Assert.Equal("it has shown no certificate", Judge(null, _now, true, "e1", out _));
    }

    [Fact]
    public void While_one_authority_takes_the_place_of_the_other_both_count()
    {
        Make(_now).Create();
        using var before = Issue(_now, "e1");
        Make(_now).Create();
        using var after = Issue(_now, "e1");
        Assert.NotEqual(before.Issuer, after.Issuer);
        Assert.Null(Judge(before, _now, true, "e1", out _));
        Assert.Null(Judge(after, _now, true, "e1", out _));

        var file = Path.Combine(_folder.FullName, "ca.pem");
        var newest = File.ReadAllText(file);
        File.WriteAllText(file, newest[..(newest.IndexOf("-----END CERTIFICATE-----", StringComparison.Ordinal) + 26)]);
        Assert.Equal("its certificate is of no authority of this cluster", Judge(before, _now, true, "e1", out _));
        Assert.Null(Judge(after, _now, true, "e1", out _));
    }

    [Fact]
    public void One_of_the_authority_without_the_name_of_a_node_is_refused()
    {
        Make(_now).Create();
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        using var authorityKey = ECDsa.Create();
        authorityKey.ImportFromPem(File.ReadAllText(Path.Combine(_folder.FullName, "ca.key")));
        using var authority = X509Certificate2.CreateFromPemFile(
            Path.Combine(_folder.FullName, "ca.pem"), Path.Combine(_folder.FullName, "ca.key"));
        var request = new CertificateRequest("CN=e1", key, HashAlgorithmName.SHA256);
        using var certificate = request.Create(authority, _now.AddHours(-1), _now.AddDays(1), [1, 2, 3]);
        Assert.Equal("its certificate is that of no node", Judge(certificate, _now, true, "e1", out _));

        // Names that cannot be read are none.
        request.CertificateExtensions.Add(new X509Extension("2.5.29.17", [0x30, 0x03, 0x82, 0x7f, 0x61], critical: false));
        using var unreadable = request.Create(authority, _now.AddHours(-1), _now.AddDays(1), [1, 2, 4]);
        Assert.NotNull(Judge(unreadable, _now, true, "e1", out _));
        using var stranger = request.CreateSelfSigned(_now.AddHours(-1), _now.AddDays(1));
        Assert.Equal("its certificate is of no authority of this cluster", Judge(stranger, _now, true, "e1", out _));
    }

    [Fact]
    public void A_key_of_another_authority_issues_nothing()
    {
        Make(_now).Create();
        var other = Path.Combine(_folder.FullName, "other");
        new ClusterAuthority(other, _now).Create();
        File.Copy(Path.Combine(other, "ca.key"), Path.Combine(_folder.FullName, "ca.key"), overwrite: true);
        Assert.Throws<CryptographicException>(() => Make(_now).Issue("e1", TimeSpan.FromDays(1)));
    }

    public void Dispose() => _folder.Delete(recursive: true);

    private static X509Certificate2 Load(string path) => X509Certificate2.CreateFromPemFile(path);

    private string? Judge(X509Certificate2? certificate, DateTimeOffset now, bool asServer, string? expected, out string node)
    {
        var authorities = new X509Certificate2Collection();
        authorities.ImportFromPemFile(Path.Combine(_folder.FullName, "ca.pem"));
        return NodeTrust.Judge(certificate, null, authorities, now.UtcDateTime, asServer, expected, out node);
    }

    private ClusterAuthority Make(DateTimeOffset now) => new(_folder.FullName, now);

    private X509Certificate2 Issue(DateTimeOffset now, string node) => Load(Make(now).Issue(node, TimeSpan.FromDays(30)));
}
