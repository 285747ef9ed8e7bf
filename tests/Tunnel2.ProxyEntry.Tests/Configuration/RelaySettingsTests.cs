using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

/// <summary>Who may reach the relay, which shows every request.</summary>
public sealed class RelaySettingsTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-settings-").FullName;

    [Theory]
    [InlineData("0.0.0.0:12003")]
    [InlineData("*:12003")]
    [InlineData("192.0.2.1:12003")]
    public void Off_loopback_it_needs_the_admin_token_and_says_so(string listen)
    {
        var error = Assert.Single(SettingsFixture.Load("Relay:Listen=" + listen).Errors);
        Assert.Equal("Tunnel2:Relay:Listen", error.Key);
        Assert.Contains("Tunnel2:Admin:Token", error.Message, StringComparison.Ordinal);
        Assert.Contains("Tunnel2:Relay:AllowRemote=true", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void A_token_that_cannot_be_used_is_the_only_mistake() => Assert.Equal(
        "Tunnel2:Admin:Token", Assert.Single(SettingsFixture.Load("Relay:Listen=*:12003", "Admin:Token=a b").Errors).Key);

    [Theory]
    [InlineData(UplinkSecurity.Plaintext, "Relay:Listen=127.0.0.1:12003")]
    [InlineData(UplinkSecurity.Plaintext, "Relay:Listen=127.0.0.1:12003", "Uplink:Certificate=self-made")]
    [InlineData(UplinkSecurity.Plaintext, "Relay:Listen=*:12003", "Relay:AllowRemote=true")]
    [InlineData(UplinkSecurity.Plaintext, "Relay:Listen=*:12003", "Relay:AllowRemote=true", "Admin:Token=t")]
    [InlineData(UplinkSecurity.SelfMade, "Relay:Listen=*:12003", "Admin:Token=t")]
    [InlineData(UplinkSecurity.SelfMade, "Relay:Listen=*:12003", "Admin:Token=t", "Uplink:Certificate=self-made")]
    [InlineData(UplinkSecurity.SelfMade, "Relay:Listen=127.0.0.1:12003", "Relay:Certificate=Self-Made")]
    [InlineData(UplinkSecurity.SelfMade, "Relay:Listen=*:12003", "Relay:AllowRemote=true", "Relay:Certificate=self-made")]
    internal void Off_loopback_there_is_tls_unless_plaintext_is_asked_for(UplinkSecurity expected, params string[] settings)
    {
        var loaded = SettingsFixture.LoadValid(settings);
        Assert.Equal(expected, loaded.RelaySecurity);
        Assert.Null(loaded.RelayCertificate);
    }

    [Fact]
    public void Off_loopback_it_has_the_uplinks_certificate_and_anywhere_its_own()
    {
        var uplink = Write("uplink.pem");
        var own = Write("relay.pem");
        var shared = SettingsFixture.LoadValid("Relay:Listen=*:12003", "Admin:Token=t", "Uplink:Certificate=" + uplink);
        Assert.Equal(UplinkSecurity.Certificate, shared.RelaySecurity);
        Assert.Same(shared.UplinkCertificate, shared.RelayCertificate);

        var loaded = SettingsFixture.LoadValid(
            "Relay:Listen=127.0.0.1:0", "Uplink:Certificate=" + uplink, "Relay:Certificate=" + own);
        Assert.Equal(UplinkSecurity.Certificate, loaded.RelaySecurity);
        Assert.Equal(own, loaded.RelayCertificate!.Path);
    }

    [Theory]
    [InlineData("Relay:Certificate=/nowhere.pem")]
    [InlineData("Relay:Certificate=self-made", "Relay:CertificateKey=/nowhere.key")]
    [InlineData("Relay:CertificatePassword=x")]
    public void A_mistake_about_its_certificate_is_named(params string[] settings) =>
        Assert.Equal("Tunnel2:Relay:Certificate", Assert.Single(SettingsFixture.Load(settings).Errors).Key);

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private string Write(string name)
    {
        var path = Path.Combine(_folder, name);
        using var certificate = TestUtilities.SelfMadeCertificate.Create();
        File.WriteAllText(path, TestUtilities.SelfMadeCertificate.ToPem(certificate));
        return path;
    }
}
