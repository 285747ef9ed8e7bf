using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Certificates;

/// <summary>What operators see of the certificates.</summary>
public sealed class CertificateUsesTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-uses-").FullName;
    private readonly ManualTimeProvider _time = new();
    private readonly RecordedLog<CertificateFolder> _log = new();

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void Each_has_its_names_and_where_it_comes_from()
    {
        Directory.CreateDirectory(Path.Combine(_folder, "named"));
        Write("named/one.pem", "a.test", "b.test", "c.test", "*.d.test", "e.test");
        var uses = new CertificateUses();
        var single = Single(Write("single.crt", "relay.test"));
        uses.Add("relay", () => single.Facts);
        uses.Add("visitors", new CertificateFolder(Path.Combine(_folder, "named"), _time, _log));
        Assert.Equal(
            [("relay", "relay.test", "file"), ("visitors", "a.test, b.test, c.test and 2 more", "folder")],
            uses.Now().Select(static one => (one.Use, one.Facts.Names, one.Facts.Origin)));
        Assert.Empty(uses.Refusals());
        Assert.Equal(0, uses.Refused());
    }

    [Fact]
    public void One_without_names_says_so_and_is_used()
    {
        var single = Single(Write("address.crt", "127.0.0.1"));
        Assert.Equal(("", "CN=test"), (single.Facts.Names, single.Facts.Subject));
    }

    [Fact]
    public void A_file_that_cannot_take_the_place_of_the_one_in_use_is_refused_until_it_can()
    {
        var path = Write("single.crt", "relay.test");
        var single = Single(path);
        var uses = new CertificateUses();
        uses.Add("relay", () => single.Facts, () => single.Refusal);
        File.WriteAllText(path, "half a certif");
        single.ReloadIfChanged();
        var (use, refusal) = Assert.Single(uses.Refusals());
        Assert.Equal(("relay", path, 1), (use, refusal.Name, uses.Refused()));
        Assert.NotEmpty(refusal.Reason);
        Assert.Null(refusal.NextTry);
        Assert.Equal("relay.test", single.Facts.Names);

        Write("single.crt", "later.test");
        single.ReloadIfChanged();
        Assert.Empty(uses.Refusals());
        Assert.Equal("later.test", single.Facts.Names);
    }

    [Fact]
    public void Files_that_are_as_before_again_are_no_longer_refused()
    {
        var path = Write("single.crt", "relay.test");
        var before = File.ReadAllText(path);
        var single = Single(path);
        File.WriteAllText(path, "half a certif");
        single.ReloadIfChanged();
        Assert.NotNull(single.Refusal);
        File.WriteAllText(path, before);
        single.ReloadIfChanged();
        Assert.Null(single.Refusal);
    }

    private ReloadingCertificate Single(string path) =>
        new(new CertificateSource(path, null, null), CertificateUse.Visitors, _time, _log);

    private string Write(string file, params string[] names)
    {
        var (certificate, key) = TestPem.Make(_time.GetUtcNow().AddDays(-1), _time.GetUtcNow().AddDays(30), names);
        var path = Path.Combine(_folder, file);
        File.WriteAllText(path, certificate + key);
        return path;
    }
}
