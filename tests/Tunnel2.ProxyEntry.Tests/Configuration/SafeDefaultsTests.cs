using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

public sealed class SafeDefaultsTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("tunnel2-settings-").FullName;

    [Theory]
    [InlineData("0.0.0.0:12001")]
    [InlineData("*:12001")]
    [InlineData("[::]:12001")]
    [InlineData("192.0.2.1:12001")]
    public void An_uplink_off_loopback_needs_tokens_and_says_so(string listen)
    {
        var error = Assert.Single(SettingsFixture.Load("Uplink:Listen=" + listen).Errors);

        Assert.Equal("Tunnel2:Uplink:Listen", error.Key);
        Assert.Contains("Tunnel2:AllowAnonymousAgents=true", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Where_the_server_keeps_tokens_an_uplink_off_loopback_needs_no_agent_in_the_settings_and_still_lets_in_no_other()
    {
        string[] settings = ["Uplink:Listen=*:12001", "StateFolder=" + _directory];
        Assert.False(SettingsFixture.Load(settings).IsValid);
        Directory.CreateDirectory(Path.Combine(_directory, "tokens"));
        Assert.False(SettingsFixture.LoadValid(settings).AnonymousAgentsAllowed);
    }

    [Theory]
    [InlineData("AllowAnonymousAgents=false")]
    [InlineData("AllowAnonymousAgents=false", "Uplink:Listen=*:12001")]
    public void A_server_whose_first_token_is_made_while_it_runs_starts_and_lets_in_no_agent_until_then(params string[] settings) =>
        Assert.False(SettingsFixture.LoadValid([.. settings, "StateFolder=" + _directory]).AnonymousAgentsAllowed);

    [Fact]
    public void A_new_node_of_a_cluster_which_has_the_tokens_needs_no_agent_in_the_settings() => Assert.DoesNotContain(
        SettingsFixture.Load("Uplink:Listen=*:12001", "StateFolder=" + _directory, "Cluster:Database=Host=db1").Errors,
        static error => error.Key == "Tunnel2:Uplink:Listen");

    [Theory]
    [InlineData(UplinkSecurity.Plaintext, "Uplink:Listen=127.0.0.1:12001")]
    [InlineData(UplinkSecurity.Plaintext, "Uplink:Listen=*:12001", "Uplink:AllowPlaintext=true")]
    [InlineData(UplinkSecurity.SelfMade, "Uplink:Listen=*:12001")]
    [InlineData(UplinkSecurity.SelfMade, "Uplink:Listen=127.0.0.1:12001", "Uplink:Certificate=self-made")]
    [InlineData(UplinkSecurity.SelfMade, "Uplink:Listen=*:12001", "Uplink:Certificate=Self-Made", "Uplink:AllowPlaintext=true")]
    internal void Off_loopback_there_is_tls_unless_plaintext_is_asked_for(UplinkSecurity expected, params string[] settings)
    {
        var loaded = SettingsFixture.LoadValid([.. settings, "AllowAnonymousAgents=true"]);

        Assert.Equal(expected, loaded.UplinkSecurity);
        Assert.Null(loaded.UplinkCertificate);
    }

    [Fact]
    public void A_given_certificate_means_tls_everywhere() => Assert.Equal(
        UplinkSecurity.Certificate,
        SettingsFixture.LoadValid("Uplink:Certificate=" + WriteCertificate("uplink.pem"), "Uplink:AllowPlaintext=true").UplinkSecurity);

    [Theory]
    [InlineData("Public:Certificate=self-made")]
    [InlineData("Public:Certificate=Self-Made", "Uplink:AllowPlaintext=true")]
    [InlineData("Uplink:Certificate=self-made")]
    public void Self_made_certificates_serve_visitors_where_that_is_said(params string[] settings) =>
        Assert.Null(SettingsFixture.LoadValid(["Public:HttpsListen=127.0.0.1:12443", .. settings]).HttpsCertificate);

    [Fact]
    public void Without_a_certificate_for_visitors_it_is_said_what_may_be_one() => Assert.Contains(
        "self-made", Assert.Single(SettingsFixture.Load("Public:HttpsListen=*:12443").Errors).Message, StringComparison.Ordinal);

    [Theory]
    [InlineData("Tunnel2:Public:Certificate", "Public:Certificate=self-made", "Public:CertificateKey=/nowhere.key")]
    [InlineData("Tunnel2:Uplink:Certificate", "Uplink:Certificate=self-made", "Uplink:CertificatePassword=x")]
    [InlineData("Tunnel2:Uplink:ClientCa", "Agents:a:CertificateName=a")]
    [InlineData("Tunnel2:Uplink:ClientCa", "Uplink:Certificate=self-made", "Uplink:ClientCa=/nowhere.pem")]
    [InlineData("Tunnel2:Agents:a:CertificateFingerprint", "Agents:a:CertificateFingerprint=sha256:12")]
    [InlineData("Tunnel2:Agents:a:TokenHash", "Agents:a:Names=web")]
    [InlineData("Tunnel2:Uplink:FailuresPerMinute", "Uplink:FailuresPerMinute=-1")]
    [InlineData("Tunnel2:Uplink:FailuresPerMinute", "Uplink:FailuresPerMinute=10001")]
    public void A_mistake_about_trust_is_named(string key, params string[] settings) =>
        Assert.Equal(key, Assert.Single(SettingsFixture.Load(settings).Errors).Key);

    [Fact]
    public void Agents_with_certificates_count_as_agents()
    {
        var settings = SettingsFixture.LoadValid("Uplink:Listen=*:12001", "Agents:a:CertificateFingerprint=" + new string('a', 64));

        Assert.True(settings.Agents.UsesCertificates);
        Assert.False(settings.AnonymousAgentsAllowed);
    }

    [Fact]
    public void An_uplink_off_loopback_starts_with_a_token_and_a_certificate()
    {
        var settings = SettingsFixture.LoadValid(
            "Uplink:Listen=*:12001",
            "Uplink:Certificate=" + WriteCertificate("uplink.pem"),
            "Agents:ci:TokenHash=" + SettingsFixture.HashSetting("t"));

        Assert.False(settings.AnonymousAgentsAllowed);
        using var certificate = settings.UplinkCertificate!.Load([]);
        Assert.True(certificate.HasPrivateKey);
    }

    [Fact]
    public void An_uplink_off_loopback_starts_when_both_dangers_are_accepted()
    {
        Assert.True(SettingsFixture.LoadValid(
            "Uplink:Listen=*:12001", "AllowAnonymousAgents=true", "Uplink:AllowPlaintext=true").AnonymousAgentsAllowed);
    }

    [Fact]
    public void An_agent_without_a_hash_does_not_open_the_server()
    {
        var errors = SettingsFixture.Load("Uplink:Listen=*:12001", "Uplink:AllowPlaintext=true", "Agents:ci:TokenHash=").Errors;

        Assert.Equal("Tunnel2:Agents:ci:TokenHash", Assert.Single(errors).Key);
    }

    [Fact]
    public void Admin_off_loopback_starts_with_a_token()
    {
        Assert.NotNull(SettingsFixture.LoadValid("Admin:Listen=*:12002", "Admin:Token=x").AdminToken);
    }

    [Theory]
    [InlineData("Admin:MetricsToken=m")]
    [InlineData("Admin:MetricsToken=m", "Admin:Token=m")]
    [InlineData("Admin:MetricsToken=m\u00e9", "Admin:Token=x")]
    public void A_token_for_metrics_that_would_protect_nothing_is_one_mistake(params string[] settings)
    {
        Assert.Equal("Tunnel2:Admin:MetricsToken", Assert.Single(SettingsFixture.Load(settings).Errors).Key);
    }

    [Fact]
    public void A_token_for_metrics_opens_no_listener_off_loopback()
    {
        var errors = SettingsFixture.Load("Admin:Listen=*:12002", "Admin:MetricsToken=m").Errors;
        Assert.Contains(errors, static error => error.Key == "Tunnel2:Admin:Listen");
    }

    [Fact]
    public void An_empty_admin_token_off_loopback_is_one_mistake()
    {
        Assert.Equal("Tunnel2:Admin:Token", Assert.Single(SettingsFixture.Load("Admin:Listen=*:12002", "Admin:Token=").Errors).Key);
    }

    [Fact]
    public void Https_uses_the_certificate_of_the_uplink_unless_it_has_its_own()
    {
        var uplink = WriteCertificate("uplink.pem");
        var own = WriteCertificate("own.pem");

        var shared = SettingsFixture.LoadValid("Public:HttpsListen=*:12443", "Uplink:Certificate=" + uplink);
        var separate = SettingsFixture.LoadValid(
            "Public:HttpsListen=*:12443", "Public:HttpListen=off", "Uplink:Certificate=" + uplink, "Public:Certificate=" + own);

        Assert.Equal(uplink, shared.HttpsCertificate?.Path);
        Assert.Equal(own, separate.HttpsCertificate?.Path);
        Assert.Null(separate.HttpListen);
    }

    [Fact]
    public void A_pkcs12_file_is_loaded_with_its_password_and_refused_with_another()
    {
        var path = Path.Combine(_directory, "server.pfx");
        using (var certificate = CreateCertificate())
        {
            File.WriteAllBytes(path, certificate.Export(X509ContentType.Pkcs12, "right"));
        }

        SettingsFixture.LoadValid("Uplink:Certificate=" + path, "Uplink:CertificatePassword=right");
        var error = Assert.Single(SettingsFixture.Load("Uplink:Certificate=" + path, "Uplink:CertificatePassword=wrong").Errors);

        Assert.Equal("Tunnel2:Uplink:Certificate", error.Key);
    }

    [Fact]
    public void A_certificate_without_its_key_is_a_mistake()
    {
        var path = Path.Combine(_directory, "public-only.pem");
        using (var certificate = CreateCertificate())
        {
            File.WriteAllText(path, certificate.ExportCertificatePem());
        }

        Assert.Equal("Tunnel2:Uplink:Certificate", Assert.Single(SettingsFixture.Load("Uplink:Certificate=" + path).Errors).Key);
    }

    [Fact]
    public void A_key_without_a_certificate_is_a_mistake()
    {
        Assert.Equal("Tunnel2:Uplink:Certificate", Assert.Single(SettingsFixture.Load("Uplink:CertificateKey=x.pem").Errors).Key);
    }

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    private static X509Certificate2 CreateCertificate() =>
        SelfMadeCertificate.Create("tunnel.test", DateTimeOffset.UnixEpoch, DateTimeOffset.UnixEpoch.AddYears(100));

    private string WriteCertificate(string name)
    {
        var path = Path.Combine(_directory, name);
        using var certificate = CreateCertificate();
        File.WriteAllText(path, SelfMadeCertificate.ToPem(certificate));
        return path;
    }
}
