using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Https;

/// <summary>Certificates that visitors get by the name that they ask for, from a folder that changes.</summary>
public sealed class CertificatesByNameTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();
    private readonly TemporaryFolder _state = new();
    private readonly TestAuthority _authority = new();
    private readonly ManualTimeProvider _time = new(DateTimeOffset.UtcNow);

    [Fact]
    public async Task Each_name_gets_its_certificate_and_a_renewed_one_without_a_restart()
    {
        var (web, api) = (_authority.Issue("web.localhost"), _authority.Issue("*.localhost"));
        File.WriteAllText(_folder["web.pem"], web);
        File.WriteAllText(_folder["wild.pem"], api);
        await using var entry = await EntryFixture.StartAsync(
            _time, "Public:HttpsListen=127.0.0.1:0", "Public:CertificateFolder=" + _folder["."], "StateFolder=" + _state["state"]);
        await using var standing = await Tls.ConnectAsync(entry, "web.localhost");
        Assert.Equal(TestAuthority.Fingerprint(web), Tls.FingerprintOf(standing));
        Assert.Equal(TestAuthority.Fingerprint(web), await FingerprintAsync(entry, "WEB.localhost"));
        Assert.Equal(TestAuthority.Fingerprint(api), await FingerprintAsync(entry, "api.localhost"));

        // Neither a name without a certificate nor a visitor that names none is left without an answer.
        Assert.NotEqual(TestAuthority.Fingerprint(api), await FingerprintAsync(entry, "elsewhere.example"));

        var renewed = _authority.Issue("web.localhost");
        File.WriteAllText(_folder["web.pem"], renewed[..300]);
        _time.Advance(ReloadLoop.Period);
        await entry.Log.WaitForAsync(2253);
        Assert.Equal(TestAuthority.Fingerprint(web), await FingerprintAsync(entry, "web.localhost"));
        File.WriteAllText(_folder["web.pem"], renewed);
        _time.Advance(ReloadLoop.Period);
        await entry.Log.WaitForAsync(2266, 3);
        Assert.Equal(TestAuthority.Fingerprint(renewed), await FingerprintAsync(entry, "web.localhost"));
        await Tls.AssertServedAsync(standing);

        await using var admin = await RawHttpClient.ConnectAsync(entry.Admin);
        var metrics = (await admin.ExchangeAsync("/metrics")).Body.Text();
        Assert.Contains("tunnel2_entry_certificates{use=\"visitors\"} 3", metrics, StringComparison.Ordinal);
        Assert.Contains("tunnel2_entry_certificate_end_seconds{use=\"visitors\"}", metrics, StringComparison.Ordinal);
        Assert.Contains("tunnel2_entry_certificates_refused 0", metrics, StringComparison.Ordinal);
    }

    public void Dispose()
    {
        _authority.Dispose();
        _folder.Dispose();
        _state.Dispose();
    }

    private static async Task<string> FingerprintAsync(EntryFixture entry, string name)
    {
        await using var visitor = await Tls.ConnectAsync(entry, name);
        return Tls.FingerprintOf(visitor);
    }
}
