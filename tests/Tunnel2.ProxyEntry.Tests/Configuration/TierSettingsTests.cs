using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

public sealed class TierSettingsTests
{
    [Theory]
    [InlineData("free", 10, 10)]
    [InlineData("pro", 100, 100)]
    [InlineData("team", 50, 50)]
    [InlineData("bursty", 5, 200)]
    public void A_tier_has_its_rate_and_by_default_a_burst_of_one_second(string tier, int rate, int burst) =>
        Assert.Equal(
            new RateTier(tier, rate, burst),
            Load(tier, "Tiers:team:RequestsPerSecond=50", "Tiers:bursty:RequestsPerSecond=5", "Tiers:bursty:Burst=200"));

    [Fact]
    public void Unlimited_tiers_and_changes_of_those_built_in_are_settings_like_any()
    {
        Assert.Null(Load("enterprise"));
        Assert.Null(Load("free", "Tiers:free:RequestsPerSecond=Unlimited"));
        Assert.Equal(7, Load("enterprise", "Tiers:enterprise:RequestsPerSecond=7")?.RequestsPerSecond);
    }

    [Theory]
    [InlineData("Tiers:t:RequestsPerSecond=0", "Tunnel2:Tiers:t:RequestsPerSecond")]
    [InlineData("Tiers:t:RequestsPerSecond=-1", "Tunnel2:Tiers:t:RequestsPerSecond")]
    [InlineData("Tiers:t:RequestsPerSecond=0.5", "Tunnel2:Tiers:t:RequestsPerSecond")]
    [InlineData("Tiers:t:RequestsPerSecond=1000001", "Tunnel2:Tiers:t:RequestsPerSecond")]
    [InlineData("Tiers:t:Burst=5", "Tunnel2:Tiers:t:RequestsPerSecond")]
    [InlineData("Tiers:t:RequestsPerSecond=5|Tiers:t:Burst=none", "Tunnel2:Tiers:t:Burst")]
    [InlineData("Tiers:t:RequestsPerSecond=unlimited|Tiers:t:Burst=5", "Tunnel2:Tiers:t:Burst")]
    [InlineData("Tiers:T!:RequestsPerSecond=5", "Tunnel2:Tiers:T!")]
    [InlineData("Tiers:t:RequestPerSecond=5|Tiers:t:RequestsPerSecond=5", "Tunnel2:Tiers:t:RequestPerSecond")]
    public void Mistakes_name_the_tier_and_the_key(string settings, string key) =>
        Assert.Equal(key, Assert.Single(SettingsFixture.Load(settings.Split('|')).Errors).Key);

    [Fact]
    public void A_tier_that_is_not_there_is_a_mistake_that_says_which_there_are()
    {
        var error = Assert.Single(
            SettingsFixture.Load("Agents:a:TokenHash=" + SettingsFixture.HashSetting("t"), "Agents:a:Tier=fre").Errors);
        Assert.Equal("Tunnel2:Agents:a:Tier", error.Key);
        Assert.Contains("enterprise, free, pro", error.Message, StringComparison.Ordinal);
    }

    private static RateTier? Load(string tier, params string[] settings) => SettingsFixture
        .LoadValid(["Agents:a:TokenHash=" + SettingsFixture.HashSetting("t"), "Agents:a:Tier=" + tier, .. settings])
        .Agents.TierOf(new AgentGrant("a", null, null));
}
