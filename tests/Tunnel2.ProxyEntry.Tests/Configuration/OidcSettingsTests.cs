namespace Tunnel2.ProxyEntry.Tests.Configuration;

public sealed class OidcSettingsTests
{
    private static readonly string[] _gate =
        ["Oidc:staff:Authority=https://id.example", "Oidc:staff:ClientId=tunnel", "Oidc:staff:AllowDomains=@example.com"];

    [Fact]
    public void A_gate_is_read_and_an_agent_can_name_it()
    {
        var settings = SettingsFixture.LoadValid(
            [.. _gate, "Agents:a:TokenHash=" + SettingsFixture.HashSetting("t"), "Agents:a:Oidc=staff"]);
        var gate = Assert.Single(settings.Gates);
        Assert.Equal(("staff", "tunnel", TimeSpan.FromHours(8)), (gate.Name, gate.ClientId, gate.Lifetime));
        Assert.Equal(["example.com"], gate.Domains);
        Assert.Equal("staff", settings.Agents.Find("a")!.Access!.Gate);
        Assert.Equal(["staff"], settings.Agents.Gates);
    }

    [Theory]
    [InlineData("Authority=http://id.example", "Oidc:staff:Authority", "not an https URL")]
    [InlineData("Authority=", "Oidc:staff:Authority", "is missing")]
    [InlineData("ClientId=", "Oidc:staff:ClientId", "is missing")]
    [InlineData("AllowDomains=", "Oidc:staff:AllowEmails", "no visitor could enter")]
    [InlineData("AllowDomains=example", "Oidc:staff:AllowDomains", "not a domain")]
    [InlineData("AllowEmails=alice", "Oidc:staff:AllowEmails", "not an address")]
    [InlineData("ClientSecretFile=/nowhere/secret", "Oidc:staff:ClientSecretFile", "cannot be read")]
    [InlineData("Scopes=a\"b", "Oidc:staff:Scopes", "not a scope")]
    [InlineData("Session=30s", "Oidc:staff:Session", "1m")]
    [InlineData("Secret=s3cret", "Oidc:staff:Secret", "unknown setting")]
    public void A_mistake_in_a_gate_is_named(string setting, string key, string words)
    {
        var name = "Oidc:staff:" + setting.Split('=')[0];
        var errors = SettingsFixture.Load(
            [.. _gate.Where(other => !other.StartsWith(name + "=", StringComparison.Ordinal)), "Oidc:staff:" + setting]).Errors;
        var error = errors[0];
        Assert.Equal("Tunnel2:" + key, error.Key);
        Assert.Contains(words, error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("s3cret", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Agents:a:Oidc=other", "is not a gate of Tunnel2:Oidc")]
    [InlineData("Agents:a:Oidc=staff|Agents:a:JwtIssuer=https://id.example|Agents:a:JwtAudience=web", "contradicts JwtIssuer")]
    public void An_agent_has_a_gate_that_exists_and_nothing_beside_it(string settings, string words)
    {
        var error = Assert.Single(SettingsFixture.Load(
            [.. _gate, "Agents:a:TokenHash=" + SettingsFixture.HashSetting("t"), .. settings.Split('|')]).Errors);
        Assert.Equal("Tunnel2:Agents:a:Oidc", error.Key);
        Assert.Contains(words, error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void A_name_that_no_agent_could_say_is_a_mistake() => Assert.Contains(
        "characters of [a-z0-9-]",
        Assert.Single(SettingsFixture.Load(
            [.. _gate.Select(static one => one.Replace("staff", "Staff_1", StringComparison.Ordinal))]).Errors).Message,
        StringComparison.Ordinal);
}
