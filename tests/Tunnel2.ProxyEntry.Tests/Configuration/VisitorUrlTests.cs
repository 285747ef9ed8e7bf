namespace Tunnel2.ProxyEntry.Tests.Configuration;

/// <summary>Under which URL visitors come, where that is not a listener of ProxyEntry.</summary>
public sealed class VisitorUrlTests
{
    [Fact]
    public void Without_the_setting_the_listeners_decide() => Assert.Null(SettingsFixture.LoadValid().VisitorUrl);

    [Theory]
    [InlineData("https://{name}.example.com", "https://web.example.com")]
    [InlineData("https://{name}.example.com/", "https://web.example.com")]
    [InlineData("https://{name}.example.com:443", "https://web.example.com")]
    [InlineData("https://{name}.example.com:8443", "https://web.example.com:8443")]
    [InlineData("http://{name}.example.com", "http://web.example.com")]
    [InlineData("http://{name}.example.com:80/", "http://web.example.com")]
    [InlineData("http://{name}.example.com:443", "http://web.example.com:443")]
    [InlineData("HTTPS://{Name}.Example.COM", "https://web.example.com")]
    [InlineData("https://{name}.{Domain}", "https://web.example.com")]
    [InlineData("https://{name}.{domain}:65535", "https://web.example.com:65535")]
    public void Each_form_gives_the_URL_of_a_host(string setting, string url) =>
        Assert.Equal(url, SettingsFixture.LoadValid("Domain=Example.com.", "Public:Url=" + setting).VisitorUrl!.Of("web.example.com"));

    [Theory]
    [InlineData("https")]
    [InlineData("example.com")]
    [InlineData("{name}.example.com")]
    [InlineData("https://")]
    [InlineData("https://:443")]
    [InlineData("https://example.com")]
    [InlineData("https://*.example.com")]
    [InlineData("https://{name}")]
    [InlineData("https://{name}.")]
    [InlineData("https://example.com/{name}")]
    [InlineData("https://www.{name}.example.com")]
    [InlineData("https://{name}.example.com/app")]
    [InlineData("https://{name}.example.com//")]
    [InlineData("https://{name}.example.com?a")]
    [InlineData("https://{name}.example.com#a")]
    [InlineData("https://me@{name}.example.com")]
    [InlineData("https://{name}.example.com:")]
    [InlineData("https://{name}.example.com:0")]
    [InlineData("https://{name}.example.com:65536")]
    [InlineData("https://{name}.example.com:+443")]
    [InlineData("https://{name}.example.com:443:443")]
    [InlineData("tcp://{name}.example.com")]
    [InlineData("https:{name}.example.com")]
    [InlineData("https:// {name}.example.com")]
    public void Any_other_form_is_a_mistake_that_shows_the_right_one(string setting)
    {
        var error = Assert.Single(SettingsFixture.Load("Domain=example.com", "Public:Url=" + setting).Errors);

        Assert.Equal("Tunnel2:Public:Url", error.Key);
        Assert.Contains("https://{name}.example.com", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("https://{name}.example.org")]
    [InlineData("https://{name}.www.example.com:8443")]
    [InlineData("https://{name}.example.com.")]
    public void The_domain_is_that_of_the_names_because_the_Host_of_visitors_leads_to_their_tunnel(string setting)
    {
        var error = Assert.Single(SettingsFixture.Load("Domain=example.com", "Public:Url=" + setting).Errors);

        Assert.Equal("Tunnel2:Public:Url", error.Key);
        Assert.Contains("Tunnel2:Domain is example.com", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void It_is_reported_with_all_other_mistakes_and_a_wrong_domain_only_once()
    {
        Assert.Equal(
            ["Tunnel2:Public:Url", "Tunnel2:EntryId"],
            SettingsFixture.Load("EntryId=?", "Public:Url=web").Errors.Select(static error => error.Key));
        Assert.Equal(
            "Tunnel2:Domain",
            Assert.Single(SettingsFixture.Load("Domain=example.com:80", "Public:Url=https://{name}.example.com").Errors).Key);
    }

    [Fact]
    public void The_redirect_to_HTTPS_needs_no_listener_for_it_where_visitors_come_over_HTTPS()
    {
        Assert.True(SettingsFixture.Load("Https:Redirect=on", "Public:Url=https://{name}.localhost").IsValid);
        Assert.Equal(
            "Tunnel2:Https:Redirect",
            Assert.Single(SettingsFixture.Load("Https:Redirect=on", "Public:Url=http://{name}.localhost").Errors).Key);
        Assert.Equal(
            "Tunnel2:Public:Url",
            Assert.Single(SettingsFixture.Load("Https:Redirect=on", "Public:Url=https").Errors).Key);
    }
}
