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
}
