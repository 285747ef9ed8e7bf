using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

/// <summary>The uplink's protection as the settings want it.</summary>
public sealed class UplinkTlsSetupTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-tls-").FullName;
    private readonly RecordedMetrics _metrics = new();
    private readonly RecordedLog<UplinkTlsServer> _log = new();

    [Theory]
    [InlineData("plaintext, because it is loopback", "Uplink:Listen=127.0.0.1:7800")]
    [InlineData("plaintext, by Tunnel2:Uplink:AllowPlaintext", "Uplink:Listen=0.0.0.0:7800", "Uplink:AllowPlaintext=true")]
    public void Plaintext_says_why(string why, params string[] settings) =>
        Assert.Equal(new UplinkTlsSetup(null, null, why), Create(settings));

    [Fact]
    public void A_certificate_is_made_once_and_found_again()
    {
        string[] settings = ["Uplink:Listen=0.0.0.0:7800", "StateFolder=" + _folder];
        var first = Create(settings);
        Assert.NotNull(first.Server);
        Assert.Equal("TLS, self-made certificate", first.Description);
        Assert.Contains(_folder, Assert.Single(_log.Of(2250)), StringComparison.Ordinal);
        var again = Create(settings);
        Assert.Single(_log.Of(2250));
        Assert.Equal(first.Certificate!.Current.Fingerprint, again.Certificate!.Current.Fingerprint);
    }

    [Fact]
    public void A_certificate_of_the_settings_is_used_and_named()
    {
        var path = Path.Combine(_folder, "own.pem");
        using var certificate = TestUtilities.SelfMadeCertificate.Create();
        File.WriteAllText(path, TestUtilities.SelfMadeCertificate.ToPem(certificate));
        var setup = Create("Uplink:Listen=0.0.0.0:7800", "Uplink:Certificate=" + path);
        Assert.NotNull(setup.Server);
        Assert.Equal("TLS, certificate " + path, setup.Description);
        Assert.Equal(Transport.Tls.CertificateFingerprint.Of(certificate), setup.Certificate!.Current.Fingerprint);
        Assert.Empty(_log.Lines);
    }

    [Fact]
    public void A_file_that_is_no_certificate_is_named_with_its_fault()
    {
        var path = Path.Combine(_folder, "uplink.pem");
        File.WriteAllText(path, "no certificate");
        var fault = Assert.Throws<IOException>(() => Create("Uplink:Listen=0.0.0.0:7800", "StateFolder=" + _folder));
        Assert.StartsWith($"The certificate of the uplink cannot be used ({path}): ", fault.Message, StringComparison.Ordinal);
    }

    public void Dispose()
    {
        _metrics.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    private UplinkTlsSetup Create(params string[] settings)
    {
        using var services = new ServiceCollection()
            .AddSingleton<ILogger<UplinkTlsServer>>(_log)
            .AddSingleton(TimeProvider.System)
            .AddSingleton(new HandshakeTurns(1, new ContainedFaults()))
            .AddSingleton(new AgentRegistry(new AgentTable([])))
            .AddSingleton(new UplinkRejection(
                new ProxyEntryMetrics(_metrics.Factory), TimeProvider.System, new RecordedLog<UplinkRejection>()))
            .BuildServiceProvider();
        return UplinkTlsSetup.Create(SettingsFixture.LoadValid([.. settings, "AllowAnonymousAgents=true"]), services);
    }
}
