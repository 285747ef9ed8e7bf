using Tunnel2.FunctionalTests.Harness;

namespace Tunnel2.FunctionalTests.Policies;

/// <summary>Rows that ask for a visitor's country, which a trusted proxy says.</summary>
[Trait("Engine", "each")]
public sealed class PolicyCountryTests
{
    [Theory]
    [InlineData("DE", 200)]
    [InlineData("de", 200)]
    [InlineData("FR", 403)]
    [InlineData("nonsense", 403)]
    [InlineData(null, 403)]
    public Task A_trusted_proxy_says_the_country(string? country, int status) => TunnelFixture.RunAsync(
        static service => PolicyTests.ServeAsync(service, static _ => { }),
        async tunnel =>
        {
            await using var proxy = await tunnel.ConnectAsync();
            var fields = country is null ? "" : $"CF-IPCountry: {country}\r\n";
            Assert.Equal(status, (await proxy.ExchangeAsync("/", TunnelFixture.Host, fields: fields)).Head.StatusCode);
        },
        new TunnelSetup
        {
            Settings = ["TrustedProxies=127.0.0.1", "Access:CountryHeader=CF-IPCountry"],
            Agent = PolicyTests.Policy("""{ "country": "DE", "allow": true }, { "deny": true }"""),
        });

    /// <summary>A proxy that appends its line leaves the one that the visitor has sent.</summary>
    [Theory]
    [InlineData("""{ "country": "DE", "allow": true }, { "deny": true }""")]
    [InlineData("""{ "country": "FR", "deny": true }""")]
    public Task Two_countries_never_help_the_visitor(string rows) => TunnelFixture.RunAsync(
        static _ => throw new InvalidOperationException("Nothing may reach the service."),
        async tunnel =>
        {
            await using var proxy = await tunnel.ConnectAsync();
            foreach (var fields in new[] { "CF-IPCountry: DE\r\nCF-IPCountry: FR\r\n", "CF-IPCountry: DE, FR\r\n" })
            {
                Assert.Equal(403, (await proxy.ExchangeAsync("/", TunnelFixture.Host, fields: fields)).Head.StatusCode);
            }
        },
        new TunnelSetup
        {
            Settings = ["TrustedProxies=127.0.0.1", "Access:CountryHeader=CF-IPCountry"],
            Agent = PolicyTests.Policy(rows),
        });

    [Fact]
    public Task Who_is_no_trusted_proxy_cannot_say_a_country() => TunnelFixture.RunAsync(
        static _ => throw new InvalidOperationException("Nothing may reach the service."),
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            Assert.Equal(
                403, (await visitor.ExchangeAsync("/", TunnelFixture.Host, fields: "CF-IPCountry: DE\r\n")).Head.StatusCode);
        },
        new TunnelSetup
        {
            Settings = ["TrustedProxies=192.0.2.1", "Access:CountryHeader=CF-IPCountry"],
            Agent = PolicyTests.Policy("""{ "country": "DE", "allow": true }, { "deny": true }"""),
        });
}
