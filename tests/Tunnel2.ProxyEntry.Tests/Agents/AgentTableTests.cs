using System.Net;
using System.Text;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Tests.Configuration;

namespace Tunnel2.ProxyEntry.Tests.Agents;

public sealed class AgentTableTests
{
    private static readonly AgentTable _table = SettingsFixture.LoadValid(
        "Agents:web:TokenHash=" + SettingsFixture.HashSetting("web-token"),
        "Agents:web:Names=web,Team-*",
        "Agents:free:TokenHash=" + SettingsFixture.HashSetting("free-token"),
        "Agents:root:TokenHash=" + SettingsFixture.HashSetting("root-token"),
        "Agents:root:Names=*").Agents;

    [Theory]
    [InlineData("web", "web", true)]
    [InlineData("web", "team-a", true)]
    [InlineData("web", "other", false)]
    [InlineData("free", "other", true)]
    [InlineData("free", "web", false)]
    [InlineData("free", "team-a", false)]
    [InlineData("root", "web", false)]
    [InlineData("root", "team-a", false)]
    [InlineData("root", "other", true)]
    [InlineData(null, "other", true)]
    [InlineData(null, "web", false)]
    public void Listed_names_are_kept_for_those_who_list_them(string? agent, string name, bool expected)
    {
        Assert.Equal(expected, _table.MayClaim(agent is null ? null : _table.Find(agent), name));
    }

    [Theory]
    [InlineData("web", "*", "web", true, false)]
    [InlineData("web", "*", "other", false, true)]
    [InlineData("web", "w*", "web", true, false)]
    [InlineData("web", "web*", "web", true, false)]
    [InlineData("team-*", "team-a*", "team-a1", false, true)]
    [InlineData("team-*", "t*", "team-a1", true, false)]
    [InlineData("team-*", "*-a1", "team-a1", true, false)]
    [InlineData("team*", "*m-a1", "team-a1", true, true)]
    [InlineData("web", "web", "web", true, true)]
    [InlineData("a*", "**", "abc", true, false)]
    [InlineData("*,web", "*,web", "web", true, true)]
    [InlineData("", "*", "web", true, true)]
    [InlineData("", "w*", "web", false, true)]
    public void Of_two_the_one_that_lists_a_name_more_specifically_may_claim_it(
        string first, string second, string name, bool firstMay, bool secondMay)
    {
        string[] settings =
        [
            "Agents:a:TokenHash=" + SettingsFixture.HashSetting("a"), "Agents:b:TokenHash=" + SettingsFixture.HashSetting("b"),
            "Agents:b:Names=" + second,
        ];
        var table = SettingsFixture.LoadValid(first.Length == 0 ? settings : [.. settings, "Agents:a:Names=" + first]).Agents;

        Assert.Equal((firstMay, secondMay), (table.MayClaim(table.Find("a"), name), table.MayClaim(table.Find("b"), name)));
        Assert.Equal(name == "other" || (first.Length == 0 && second == "*"), table.MayClaim(null, name));
    }

    [Fact]
    public void An_agent_is_found_by_its_token_only()
    {
        Assert.Equal("web", _table.FindByToken("web-token"u8)?.Id);
        Assert.Null(_table.FindByToken("web-tokeN"u8));
        Assert.Null(_table.FindByToken(default));
        Assert.Null(_table.FindByToken(Encoding.UTF8.GetBytes(SettingsFixture.HashSetting("web-token"))));
    }

    [Fact]
    public void Only_names_without_wildcards_are_known_beforehand()
    {
        Assert.True(_table.IsConfiguredName("web"));
        Assert.False(_table.IsConfiguredName("team-a"));
    }

    [Theory]
    [InlineData("Agents:b@d:TokenHash=HASH", "Tunnel2:Agents:b@d")]
    [InlineData("Agents:a:TokenHash=abc", "Tunnel2:Agents:a:TokenHash")]
    [InlineData("Agents:a:Names=web", "Tunnel2:Agents:a:TokenHash")]
    [InlineData("Agents:a:TokenHash=HASH|Agents:a:Names=w_b", "Tunnel2:Agents:a:Names")]
    [InlineData("Agents:a:TokenHash=HASH|Agents:a:Tier=P!", "Tunnel2:Agents:a:Tier")]
    [InlineData("Agents:a:TokenHash=HASH|Agents:b:TokenHash=HASH", "Tunnel2:Agents:b:TokenHash")]
    public void Mistakes_in_agents_name_the_agent_and_the_key(string settings, string key)
    {
        var hash = SettingsFixture.HashSetting("t");

        var errors = SettingsFixture.Load(settings.Replace("HASH", hash, StringComparison.Ordinal).Split('|')).Errors;

        Assert.Equal(key, Assert.Single(errors).Key);
    }

    [Theory]
    [InlineData("a*b*c", "a--b--c", true)]
    [InlineData("a*b*c", "abcbc", true)]
    [InlineData("a*b*c", "abcb", false)]
    [InlineData("*", "anything", true)]
    [InlineData("web", "web2", false)]
    [InlineData("*-web", "x-web", true)]
    [InlineData("*-web", "web", false)]
    public void Patterns_match_whole_names(string pattern, string name, bool expected)
    {
        Assert.True(NamePattern.TryParse(pattern, out var parsed));
        Assert.Equal(expected, parsed!.Matches(name));
    }

    [Fact]
    public void A_created_token_is_long_fit_for_headers_and_matches_its_hash()
    {
        var token = TokenHash.CreateToken();

        Assert.Equal(46, token.Length);
        Assert.All(token, c => Assert.True(char.IsAsciiLetterOrDigit(c) || c is '-' or '_'));
        Assert.NotEqual(token, TokenHash.CreateToken());
        Assert.True(TokenHash.TryParse(TokenHash.FromToken(token).ToSetting(), out var hash));
        Assert.True(hash!.Matches(Encoding.UTF8.GetBytes(token)));
        Assert.False(hash.Matches("x"u8));
        Assert.False(hash.MatchesHash(default));
    }

    [Theory]
    [InlineData("10.0.0.0/8", "10.255.0.1", true)]
    [InlineData("10.0.0.0/8", "::ffff:10.1.1.1", true)]
    [InlineData("10.0.0.0/8", "11.0.0.1", false)]
    [InlineData("192.0.2.7", "192.0.2.7", true)]
    [InlineData("192.0.2.7", "192.0.2.8", false)]
    [InlineData("2001:db8::/32", "2001:db8::1", true)]
    [InlineData("0.0.0.0/0", "::1", false)]
    public void Trusted_proxies_are_matched_by_network(string network, string address, bool expected)
    {
        var settings = SettingsFixture.LoadValid("TrustedProxies=" + network);

        Assert.Equal(expected, settings.TrustedProxies.Contains(IPAddress.Parse(address)));
        Assert.False(settings.TrustedProxies.Contains(null));
    }

    [Fact]
    public void Kept_tokens_stand_beside_those_of_the_settings_and_reserve_their_names()
    {
        var table = _table.With([Kept("ci", "build", "ci-*"), Kept("one", "web", "web-new")]);
        var ci = table.FindByToken("ci"u8)!;
        Assert.Equal(("build", "ci"), (ci.Id, ci.TokenName));
        Assert.True(table.MayClaim(ci, "ci-1"));
        Assert.False(table.MayClaim(ci, "web"));
        Assert.False(table.MayClaim(null, "ci-1"));
        Assert.False(table.MayClaim(table.Find("free"), "ci-1"));
        Assert.True(table.IsConfiguredName("web-new"));
        Assert.Equal("web", table.FindByToken("web-token"u8)!.Id);
        Assert.Null(table.Find("build"));
        Assert.Same(_table, _table.With([]));
        Assert.Null(table.With([]).FindByToken("ci"u8));
    }

    [Fact]
    public void Tokens_of_one_agent_do_not_stand_in_each_others_way()
    {
        var table = _table.With([Kept("wide", "WEB", "team-*"), Kept("narrow", "web", "team-a")]);
        Assert.True(table.MayClaim(table.FindByToken("wide"u8), "team-a"));
        Assert.True(table.MayClaim(table.Find("web"), "team-a"));
        Assert.False(table.MayClaim(table.Find("free"), "team-a"));
        Assert.Equal("web", table.FindByToken("wide"u8)!.Id);
    }

    [Fact]
    public void A_grant_goes_with_its_kept_token()
    {
        var token = Kept("ci", "build", "ci-*");
        var grant = new AgentGrant("build", token.TokenHash, null) { TokenName = "ci" };
        Assert.True(_table.With([token]).StillGrants(grant, "ci-1"));
        Assert.False(_table.With([token]).StillGrants(grant, "web"));
        Assert.False(_table.StillGrants(grant, "ci-1"));
        Assert.False(_table.With([token with { TokenHash = TokenHash.FromToken("another") }]).StillGrants(grant, "ci-1"));
        var expired = _table.With([token with { IsExpired = true }]);
        Assert.Equal((false, true), (expired.StillGrants(grant, "ci-1"), expired.HasExpired(grant)));
        Assert.True(expired.MayClaim(null, "ci-1"));
        Assert.NotNull(expired.FindByToken("ci"u8));
    }

    [Fact]
    public void A_tier_that_is_gone_limits_and_does_not_free()
    {
        var table = _table.With(
            [Kept("a", "a", "a") with { Tier = "gold" }, Kept("b", "b", "b") with { Tier = "pro" }, Kept("c", "c", "c")]);
        Assert.Equal(new RateTier("gold", 1, 1), table.TierOf(new AgentGrant("a", null, null) { TokenName = "a" }));
        Assert.Equal(100, table.TierOf(new AgentGrant("b", null, null) { TokenName = "b" })!.RequestsPerSecond);
        Assert.Null(table.TierOf(new AgentGrant("c", null, null) { TokenName = "c" }));
    }

    private static AgentSettings Kept(string name, string agent, string names)
    {
        Assert.True(NamePattern.TryParse(names, out var pattern));
        return new AgentSettings(agent, TokenHash.FromToken(name), [pattern!], null) { TokenName = name };
    }
}
