using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

/// <summary>Settings that say nothing where another one is missing.</summary>
public sealed class SettingsWithoutEffectTests
{
    [Theory]
    [InlineData("AccessLog:Path=/tmp/a.log", "AccessLog:Mode")]
    [InlineData("AccessLog:Query=true", "AccessLog:Mode")]
    [InlineData("Otlp:Interval=5s", "Otlp:Endpoint")]
    [InlineData("Acme:Email=a@example.org", "Acme:Directory")]
    [InlineData("Acme:Names:0=a.example.org", "Acme:Directory")]
    [InlineData("Public:Certificate=self-made", "Public:HttpsListen")]
    [InlineData("Relay:AllowRemote=true", "Relay:Listen")]
    [InlineData("Cluster:LinkIdle=1m", "Cluster:Listen")]
    [InlineData("Cluster:Uplink=n1.example.com:12001", "Cluster:Database")]
    [InlineData("Cluster:Zone=a", "Cluster:Database")]
    [InlineData("Cluster:Secret=/tmp/secret", "Cluster:Database")]
    public void They_are_mistakes(string setting, string needs)
    {
        var error = Assert.Single(SettingsFixture.Load(setting).Errors);

        Assert.Equal("Tunnel2:" + setting.Split('=')[0].Replace(":0", "", StringComparison.Ordinal), error.Key);
        Assert.Equal($"has no effect without Tunnel2:{needs}.", error.Message);
    }

    [Fact]
    public void They_may_wait_for_what_is_off_on_purpose()
    {
        SettingsFixture.LoadValid("AccessLog:Mode=off", "AccessLog:Path=/tmp/a.log", "AccessLog:MaxFiles=3");
        SettingsFixture.LoadValid("Public:HttpsListen=off", "Public:Certificate=self-made");
    }

    [Theory]
    [InlineData("TrustedProxies=10.0.0.1")]
    [InlineData("Public:HttpsListen=off")]
    public void A_word_for_browsers_is_for_those_that_come_over_https(string other)
    {
        var error = Assert.Single(SettingsFixture.Load("Https:Hsts=1h").Errors);

        Assert.Equal("Tunnel2:Https:Hsts", error.Key);
        Assert.Equal("has no effect without Tunnel2:Public:HttpsListen, or Tunnel2:TrustedProxies that take HTTPS.", error.Message);
        SettingsFixture.LoadValid("Https:Hsts=off");
        SettingsFixture.LoadValid("Https:Hsts=1h", other);
    }

    [Fact]
    public void A_size_of_files_is_one_where_there_is_no_file()
    {
        var error = Assert.Single(SettingsFixture.Load("AccessLog:Mode=full", "AccessLog:MaxFiles=3").Errors);

        Assert.Equal(
            ("Tunnel2:AccessLog:MaxFiles", "has no effect without Tunnel2:AccessLog:Path."), (error.Key, error.Message));
    }

    [Fact]
    public void Authorities_of_visitors_let_no_visitor_in_without_https()
    {
        using var certificate = SelfMadeCertificate.Create();
        var file = Path.Combine(Path.GetTempPath(), $"tunnel2-{Guid.NewGuid():N}.pem");
        File.WriteAllText(file, certificate.ExportCertificatePem());
        try
        {
            string[] agent = ["Agents:web:TokenHash=" + SettingsFixture.HashSetting("secret"), "Agents:web:ClientCa=" + file];
            var error = Assert.Single(SettingsFixture.Load(agent).Errors);

            Assert.Equal("Tunnel2:Agents:web:ClientCa", error.Key);
            Assert.Equal("lets no visitor in without Tunnel2:Public:HttpsListen.", error.Message);
            SettingsFixture.LoadValid([.. agent, "Public:HttpsListen=127.0.0.1:0", "Public:Certificate=self-made"]);
        }
        finally
        {
            File.Delete(file);
        }
    }
}
