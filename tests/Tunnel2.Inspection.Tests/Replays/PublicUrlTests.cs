using Tunnel2.Inspection.Replays;

namespace Tunnel2.Inspection.Tests.Replays;

public sealed class PublicUrlTests
{
    [Theory]
    [InlineData("http://web.localhost:12000", "anything", "http://web.localhost:12000/")]
    [InlineData("https://*.example.org", "a.example.org", "https://a.example.org/")]
    [InlineData("https://*.example.org:8443", "A.Example.Org:9000", "https://a.example.org:8443/")]
    [InlineData("http://*.example.org:8080/", "a.example.org.", "http://a.example.org:8080/")]
    [InlineData("https://*.example.org", "example.org", null)]
    [InlineData("https://*.example.org", "a.b.example.org", null)]
    [InlineData("https://*.example.org", "a.example.net", null)]
    [InlineData("https://*.example.org", ".example.org", null)]
    [InlineData("https://*.example.org", "u@a.example.org", null)]
    [InlineData("https://*.example.org", "x/.example.org", null)]
    [InlineData("https://*.example.org", "", null)]
    [InlineData("tcp://localhost:7000", "localhost", null)]
    [InlineData("https://u@web.localhost", "web.localhost", null)]
    [InlineData("nothing", "web.localhost", null)]
    public void A_wildcard_gets_the_name_that_was_called_and_nothing_else(string url, string authority, string? called) =>
        Assert.Equal(called, PublicUrl.Of(url, authority)?.AbsoluteUri);

    [Theory]
    [InlineData(true, "https://web.localhost:8443/ http://web.localhost:8080/")]
    [InlineData(false, "http://web.localhost:8080/ https://web.localhost:8443/")]
    public void The_url_with_the_scheme_of_the_visitor_is_the_first(bool isSecure, string urls) => Assert.Equal(urls, string.Join(' ',
        PublicUrl.AllOf(["https://*.localhost:8443", "http://*.localhost:8080", "tcp://localhost:7000"], "web.localhost:8080", isSecure)));
}
