using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Tests.Configuration;

namespace Tunnel2.ProxyEntry.Tests.Agents;

public sealed class DomainNameTests
{
    private static readonly AgentTable _table = SettingsFixture.LoadValid(
        "Agents:web:TokenHash=" + SettingsFixture.HashSetting("web-token"),
        "Agents:web:Names=web,app.example.org,*.Example.com",
        "Agents:any:TokenHash=" + SettingsFixture.HashSetting("any-token"),
        "Agents:any:Names=*,*.*",
        "Agents:free:TokenHash=" + SettingsFixture.HashSetting("free-token")).Agents;

    [Theory]
    [InlineData("example.org")]
    [InlineData("app.example.org")]
    [InlineData("*.app.example.org")]
    [InlineData("xn--bcher-kva.example")]
    [InlineData("a-b.example.x2")]
    [InlineData("1.example")]
    public void A_domain_has_parts_of_ASCII(string text) => Assert.Null(DomainName.FindMistake(text));

    [Theory]
    [InlineData("example")]
    [InlineData("*.example")]
    [InlineData("*.*.example.org")]
    [InlineData("*")]
    [InlineData("*.*")]
    [InlineData("a*.example.org")]
    [InlineData("app.*.example.org")]
    [InlineData(".example.org")]
    [InlineData("example..org")]
    [InlineData("example.org.")]
    [InlineData("-a.example.org")]
    [InlineData("a-.example.org")]
    [InlineData("ab--cd.example.org")]
    [InlineData("a_b.example.org")]
    [InlineData("Example.org")]
    [InlineData("bücher.example")]
    [InlineData("example.org:80")]
    [InlineData("192.0.2.1")]
    [InlineData("1.2.3.256")]
    [InlineData("[::1]")]
    [InlineData("a b.example")]
    public void All_else_is_none(string text) => Assert.NotNull(DomainName.FindMistake(text));

    [Fact]
    public void Lengths_are_those_of_DNS()
    {
        var label = new string('a', 63);
        Assert.Null(DomainName.FindMistake($"{label}.org"));
        Assert.NotNull(DomainName.FindMistake($"a{label}.org"));
        Assert.Null(DomainName.FindMistake($"{label}.{label}.{label}.{new string('a', 61)}"));
        Assert.NotNull(DomainName.FindMistake($"{label}.{label}.{label}.{new string('a', 62)}"));
    }

    [Theory]
    [InlineData("web", "app.example.org", true)]
    [InlineData("web", "www.example.org", false)]
    [InlineData("web", "a.app.example.org", false)]
    [InlineData("web", "a.example.com", true)]
    [InlineData("web", "a.b.example.com", true)]
    [InlineData("web", "*.example.com", true)]
    [InlineData("web", "*.b.example.com", true)]
    [InlineData("web", "example.com", false)]
    [InlineData("web", "evilexample.com", false)]
    [InlineData("any", "www.example.net", true)]
    [InlineData("any", "app.example.org", false)]
    [InlineData("any", "a.example.com", false)]
    [InlineData("any", "other", true)]
    [InlineData("free", "www.example.net", false)]
    [InlineData("free", "other", true)]
    [InlineData(null, "www.example.net", false)]
    public void A_domain_has_to_be_listed_and_the_most_specific_entry_has_it(string? agent, string domain, bool expected) =>
        Assert.Equal(expected, _table.MayClaim(agent is null ? null : _table.Find(agent), domain));

    [Theory]
    [InlineData("*", "app.example.org")]
    [InlineData("*.*", "web")]
    [InlineData("*.example.org", "example.org")]
    public void A_pattern_covers_either_names_or_domains(string text, string name)
    {
        Assert.True(NamePattern.TryParse(text, out var pattern));
        Assert.False(pattern!.Matches(name));
    }

    [Theory]
    [InlineData("web", "web")]
    [InlineData("app.example.org", "app_example_org")]
    [InlineData("*.example.org", "any_example_org")]
    public void The_live_plane_has_a_name_without_dots(string name, string shown) => Assert.Equal(shown, DomainName.ShownOf(name));

    [Fact]
    public void A_long_domain_is_shown_short_and_differs_from_others()
    {
        var shown = Enumerable.Range(0, 2).Select(static i => DomainName.ShownOf($"{new string('a', 50)}{i}.example.org")).ToList();
        Assert.All(shown, static one => Assert.Equal(50, one.Length));
        Assert.NotEqual(shown[0], shown[1]);
    }
}
