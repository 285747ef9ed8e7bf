using Tunnel2.Inspection.Serving;

namespace Tunnel2.Inspection.Tests.Serving;

public sealed class RequestGuardTests
{
    [Theory]
    [InlineData("127.0.0.1:4040", true)]
    [InlineData("localhost:4040", true)]
    [InlineData("LOCALHOST:4040", true)]
    [InlineData("[::1]:4040", true)]
    [InlineData("dev.box:4040", true)]
    [InlineData("forwarded:5000", true)]
    [InlineData("127.0.0.1", false)]
    [InlineData("127.0.0.1:4041", false)]
    [InlineData("localhost", false)]
    [InlineData("evil.example:4040", false)]
    [InlineData("127.0.0.1.evil.example:4040", false)]
    [InlineData("localhost.:4040", false)]
    [InlineData("127.0.0.2:4040", false)]
    [InlineData("forwarded:4040", false)]
    [InlineData("", false)]
    [InlineData(null, false)]
    public void Hosts(string? host, bool allowed) =>
        Assert.Equal(allowed, new RequestGuard(4040, ["dev.box", "forwarded:5000"]).Check("GET", host, null, null, isPage: false) is null);

    [Theory]
    [InlineData("GET", null, null, true)]
    [InlineData("POST", null, null, true)]
    [InlineData("POST", "http://127.0.0.1:4040", "same-origin", true)]
    [InlineData("GET", null, "none", true)]
    [InlineData("POST", "http://evil.example", null, false)]
    [InlineData("GET", "http://evil.example", null, false)]
    [InlineData("POST", "null", null, false)]
    [InlineData("POST", "http://127.0.0.1:4041", null, false)]
    [InlineData("POST", "http://localhost:4040", null, false)]
    [InlineData("POST", null, "cross-site", false)]
    [InlineData("GET", null, "same-site", false)]
    [InlineData("DELETE", "", null, false)]
    public void Origins(string method, string? origin, string? site, bool allowed) =>
        Assert.Equal(allowed, new RequestGuard(4040, []).Check(method, "127.0.0.1:4040", origin, site, isPage: false) is null);

    [Fact]
    public void Other_pages_may_link_to_the_page_and_to_nothing_else()
    {
        var guard = new RequestGuard(4040, []);
        Assert.Null(guard.Check("GET", "localhost:4040", null, "cross-site", isPage: true));
        Assert.NotNull(guard.Check("POST", "localhost:4040", null, "cross-site", isPage: true));
    }

    [Fact]
    public void Off_loopback_an_address_is_allowed_and_a_name_is_not()
    {
        var guard = new RequestGuard(4040, [], allowsAddresses: true);
        Assert.Null(guard.Check("GET", "192.0.2.1:4040", null, null, isPage: false));
        Assert.NotNull(guard.Check("GET", "evil.example:4040", null, null, isPage: false));
    }
}
