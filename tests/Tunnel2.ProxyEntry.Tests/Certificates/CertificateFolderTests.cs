using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Certificates;

public sealed class CertificateFolderTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-certificates-").FullName;
    private readonly ManualTimeProvider _time = new();
    private readonly RecordedLog<CertificateFolder> _log = new();

    [Fact]
    public void A_name_gets_its_own_certificate_before_that_of_its_domain()
    {
        Write("wild.pem", "*.example.test", "example.test");
        Write("web.pem", "web.example.test");
        var folder = Open();
        Assert.NotEqual(Fingerprint(folder, "web.example.test"), Fingerprint(folder, "other.example.test"));
        Assert.Equal(Fingerprint(folder, "example.test"), Fingerprint(folder, "other.example.test"));
        Assert.Null(folder.Find("a.web.example.test"));
        Assert.Null(folder.Find("elsewhere.test"));
        Assert.Null(folder.Find(""));
        Assert.Null(folder.Find("test"));
        Assert.Equal(2, folder.Count);
    }

    [Theory]
    [InlineData("web.pem", "web.key")]
    [InlineData("web.pem", "web-key.pem")]
    [InlineData("web.crt", "web.key")]
    [InlineData("tls.crt", "tls.key")]
    [InlineData("web.test/fullchain.pem", "web.test/privkey.pem")]
    [InlineData("below/tls.crt", "below/tls.key")]
    public void The_files_of_common_tools_are_found(string chain, string key)
    {
        var (certificate, privateKey) = Make("web.test");
        WriteText(chain, certificate);
        WriteText(key, privateKey);
        Assert.NotNull(Open().Find("web.test"));
        Assert.Empty(_log.Of(2267));
    }

    [Fact]
    public void Parts_that_certbot_writes_beside_the_chain_are_no_certificates_of_their_own()
    {
        var (certificate, key) = Make("web.test");
        foreach (var file in new[] { "cert.pem", "chain.pem", "fullchain.pem" })
        {
            WriteText("web.test/" + file, certificate);
        }

        WriteText("web.test/privkey.pem", key);
        WriteText("README", "text");
        Assert.Equal(1, Open().Count);
        Assert.Empty(_log.Of(2267));
    }

    [Fact]
    public void A_pair_that_is_half_written_leaves_the_old_one_in_use()
    {
        var (first, firstKey) = Make("web.test");
        WriteText("web.pem", first);
        WriteText("web.key", firstKey);
        var folder = Open();
        var before = Fingerprint(folder, "web.test");

        // The new certificate is there, and its key is not: the old key does not belong to it.
        var (second, secondKey) = Make("web.test");
        WriteText("web.pem", second);
        Look(folder, 2);
        Assert.Equal(before, Fingerprint(folder, "web.test"));
        Assert.Single(_log.Of(2253));
        Assert.Equal(1, folder.Refused);
        var refusal = Assert.Single(folder.Refusals);
        Assert.Equal("web.pem", refusal.Name);
        Assert.NotEmpty(refusal.Reason);
        WriteText("web.key", secondKey[..40]);
        Look(folder, 2);
        Assert.Equal(before, Fingerprint(folder, "web.test"));

        WriteText("web.key", secondKey);
        Look(folder, 1);
        Assert.NotEqual(before, Fingerprint(folder, "web.test"));
        Assert.Equal(0, folder.Refused);
        Assert.Empty(folder.Refusals);
    }

    [Fact]
    public void Of_very_many_refused_files_some_are_shown_and_all_are_counted()
    {
        for (var i = 0; i < CertificateRefusal.MostShown + 5; i++)
        {
            WriteText($"{i:D3}/fullchain.pem", "no PEM at all");
            WriteText($"{i:D3}/privkey.pem", "no PEM at all");
        }

        var folder = Open();
        Assert.Equal(CertificateRefusal.MostShown + 5, folder.Refused);
        Assert.Equal(
            Enumerable.Range(0, CertificateRefusal.MostShown).Select(static i => Path.Combine($"{i:D3}", "fullchain.pem")),
            folder.Refusals.Select(static one => one.Name));
    }

    [Theory]
    [InlineData("no PEM at all")]
    [InlineData("")]
    [InlineData("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")]
    public void A_file_that_cannot_be_used_is_reported_once_and_disturbs_no_other(string content)
    {
        Write("good.pem", "good.test");
        WriteText("bad.pem", content);
        var folder = Open();
        Look(folder, 5);
        Assert.NotNull(folder.Find("good.test"));
        Assert.Contains("bad.pem", Assert.Single(_log.Of(2267)), StringComparison.Ordinal);
        Assert.Equal((1, 1), (folder.Count, folder.Refused));

        // When it becomes whole it is used, and when it breaks again that is reported again.
        Write("bad.pem", "late.test");
        Look(folder, 1);
        Assert.NotNull(folder.Find("late.test"));
        Assert.Equal(0, folder.Refused);
    }

    [Fact]
    public void A_certificate_without_its_key_without_names_or_too_large_is_refused_with_its_reason()
    {
        WriteText("nokey.pem", Make("nokey.test").Certificate);
        Write("address.pem", "127.0.0.1");
        WriteText("large.pem", new string('x', CertificateFolder.MaxFile + 1));
        Write("many.pem", [.. Enumerable.Range(0, NamedCertificate.MaxNames + 1).Select(static i => $"n{i}.test")]);
        var folder = Open();
        Assert.Equal((0, 4), (folder.Count, folder.Refused));
        var lines = _log.Of(2267);
        Assert.Contains(lines, static line => line.Contains("no DNS name", StringComparison.Ordinal));
        Assert.Contains(lines, static line => line.Contains("larger than 256 KiB", StringComparison.Ordinal));
        Assert.Contains(lines, static line => line.Contains("more than 1000 names", StringComparison.Ordinal));
        Assert.DoesNotContain(lines, static line => line.Contains("PRIVATE", StringComparison.Ordinal));
    }

    [Fact]
    public void A_pair_that_is_gone_for_a_moment_stays_and_one_that_was_removed_goes()
    {
        var pem = Write("web.pem", "web.test");
        var folder = Open();
        File.Delete(PathOf("web.pem"));
        Look(folder, CertificateFolder.LooksUntilGone - 1);
        Assert.NotNull(folder.Find("web.test"));
        WriteText("web.pem", pem);
        Look(folder, 1);
        File.Delete(PathOf("web.pem"));
        Look(folder, CertificateFolder.LooksUntilGone - 1);
        Assert.NotNull(folder.Find("web.test"));
        Look(folder, 1);
        Assert.Null(folder.Find("web.test"));
        Assert.Single(_log.Of(2268));
    }

    [Fact]
    public void A_folder_that_vanishes_takes_no_certificate_with_it()
    {
        Write("web.pem", "web.test");
        var folder = Open();
        Directory.Move(_folder, _folder + "-away");
        Look(folder, 10);
        Assert.NotNull(folder.Find("web.test"));
        Assert.Single(_log.Of(2269));
        Directory.Move(_folder + "-away", _folder);
        Look(folder, 1);
        Assert.NotNull(folder.Find("web.test"));
        Assert.Equal(0, folder.Refused);
    }

    [Fact]
    public void Of_two_certificates_for_a_name_the_valid_one_counts_also_when_that_changes()
    {
        var now = _time.GetUtcNow();
        WriteText("old.pem", Joined(TestPem.Make(now.AddDays(-10), now.AddDays(1), "web.test")));
        WriteText("new.pem", Joined(TestPem.Make(now.AddHours(1), now.AddDays(90), "web.test")));
        WriteText("wild.pem", Joined(TestPem.Make(now.AddDays(-10), now.AddDays(300), "*.test")));
        var folder = Open();
        var before = Fingerprint(folder, "web.test");
        Look(folder, 1);
        Assert.Equal(before, Fingerprint(folder, "web.test"));
        _time.Advance(TimeSpan.FromHours(2));
        Look(folder, 1);
        var after = Fingerprint(folder, "web.test");
        Assert.NotEqual(before, after);

        // When it has ended, the one for the whole domain is better.
        _time.Advance(TimeSpan.FromDays(100));
        Look(folder, 1);
        Assert.Equal(Fingerprint(folder, "any.test"), Fingerprint(folder, "web.test"));
    }

    [Fact]
    public void More_certificates_than_there_may_be_are_left_out_with_a_line()
    {
        var pem = Joined(Make("web.test"));
        for (var i = 0; i <= CertificateFolder.MaxCertificates; i++)
        {
            WriteText($"{i:D4}.pem", pem);
        }

        Assert.Equal(CertificateFolder.MaxCertificates, Open().Count);
        Assert.Contains("more than 1000", Assert.Single(_log.Of(2269)), StringComparison.Ordinal);
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private CertificateFolder Open() => new(_folder, _time, _log);

    private static void Look(CertificateFolder folder, int times)
    {
        for (var i = 0; i < times; i++)
        {
            folder.ReloadIfChanged();
        }
    }

    private static string Fingerprint(CertificateFolder folder, string name) => folder.Find(name)!.Fingerprint.ToString();

    private (string Certificate, string Key) Make(params string[] names) =>
        TestPem.Make(_time.GetUtcNow().AddDays(-1), _time.GetUtcNow().AddDays(30), names);

    private static string Joined((string Certificate, string Key) pair) => pair.Certificate + pair.Key;

    private string Write(string file, params string[] names)
    {
        var pem = Joined(Make(names));
        WriteText(file, pem);
        return pem;
    }

    private string PathOf(string file) => Path.Combine(_folder, file);

    private void WriteText(string file, string text)
    {
        Directory.CreateDirectory(Path.GetDirectoryName(PathOf(file))!);
        File.WriteAllText(PathOf(file), text);
    }
}
