using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Tests.Hosting;

public sealed class CertificateCommandTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-certificate-").FullName;
    private readonly StringWriter _output = new();
    private readonly StringWriter _error = new();

    [Fact]
    public void A_certificate_is_made_that_the_settings_take_and_its_fingerprint_is_all_that_is_printed()
    {
        var path = Path.Combine(_folder, "uplink.pem");
        Assert.Equal(0, Run("certificate", "create", "--host", "entry,192.0.2.1", "--out", path));

        using var certificate = SettingsFixture.LoadValid("Uplink:Certificate=" + path).UplinkCertificate!.Load([]);
        Assert.Equal(CertificateFingerprint.Of(certificate) + Environment.NewLine, _output.ToString());
        Assert.True(certificate.MatchesHostname("entry"));
        Assert.True(certificate.MatchesHostname("192.0.2.1"));
        Assert.False(certificate.MatchesHostname("other"));
        Assert.True(certificate.NotAfter > DateTime.Now.AddYears(9));
        if (!OperatingSystem.IsWindows())
        {
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(path));
        }

        // It never takes the place of one that agents may know.
        var before = File.ReadAllText(path);
        Assert.Equal(1, Run("certificate", "create", "--host", "entry", "--out", path));
        Assert.Equal(before, File.ReadAllText(path));
    }

    [Fact]
    public void It_may_be_for_several_hosts_and_for_all_names_below_one()
    {
        var path = Path.Combine(_folder, "public.pem");
        Assert.Equal(0, Run("certificate", "create", "--host", "*.example.test", "--host", "example.test,::1", "--out", path));
        Assert.Equal("", _error.ToString());
        using var certificate = SettingsFixture.LoadValid(
            "Public:Certificate=" + path, "Public:HttpsListen=127.0.0.1:0").HttpsCertificate!.Load([]);
        Assert.True(certificate.MatchesHostname("web.example.test"));
        Assert.True(certificate.MatchesHostname("example.test"));
        Assert.True(certificate.MatchesHostname("::1"));
        Assert.False(certificate.MatchesHostname("a.web.example.test"));
    }

    [Fact]
    public void A_wildcard_that_no_browser_takes_is_made_and_said()
    {
        Assert.Equal(0, Run("certificate", "create", "--host", "*.localhost", "--out", Path.Combine(_folder, "public.pem")));
        Assert.Contains("self-made", _error.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("--host: '*' is neither a name of a host nor an address", "--host", "*", "--out", "x")]
    [InlineData("--host: 'a.*.b' is neither", "--host", "a.*.b", "--out", "x")]
    [InlineData("--host: 'web*.b' is neither", "--host", "good,web*.b", "--out", "x")]
    [InlineData("--host is missing")]
    [InlineData("--out is missing", "--host", "entry")]
    [InlineData("--host needs a value", "--host", "--out", "x")]
    [InlineData("--out needs a value", "--host", "entry", "--out")]
    [InlineData("--host: 'a b' is neither", "--host", "a b", "--out", "x")]
    [InlineData("'--hots' is not known, did you mean '--host'?", "--hots", "entry", "--out", "x")]
    [InlineData("'--more' is not known", "--host", "entry", "--out", "x", "--more", "y")]
    [InlineData("'entry' is too much", "entry", "--out", "x")]
    public void Any_other_word_is_named_with_the_usage(string mistake, params string[] args)
    {
        Assert.Equal(2, Run(["certificate", "create", .. args]));
        Assert.StartsWith($"tunnel2-entry: {mistake}", _error.ToString(), StringComparison.Ordinal);
        Assert.EndsWith(EntryHelp.CertificateUsage, _error.ToString().ReplaceLineEndings("\n").Trim(), StringComparison.Ordinal);
        Assert.Equal("", _output.ToString());
    }

    [Fact]
    public void A_place_that_cannot_be_written_is_said()
    {
        var path = Path.Combine(_folder, "no", "folder", "uplink.pem");
        Assert.Equal(1, Run("certificate", "create", "--host", "entry", "--out", path));
        Assert.Equal(
            $"tunnel2-entry: {path} cannot be written: its folder is not there", _error.ToString().Trim());
    }

    [Fact]
    public void A_folder_in_the_place_of_the_certificate_is_called_one_and_nothing_is_left_beside_it()
    {
        var path = Path.Combine(_folder, "uplink.pem");
        Directory.CreateDirectory(path);
        Assert.Equal(1, Run("certificate", "create", "--host", "entry", "--out", path));
        Assert.Equal($"tunnel2-entry: {path} cannot be written: it is a folder, not a file", _error.ToString().Trim());
        Assert.Equal([path], Directory.GetFileSystemEntries(_folder));
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private int Run(params string[] args) => CertificateCommand.Run(args, _output, _error);
}
