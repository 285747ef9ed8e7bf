using Microsoft.Extensions.Primitives;

namespace Tunnel2.Embed.Tests;

public sealed class VisitorFilterTests
{
    [Theory]
    [InlineData("192.0.2.1", 1, "192.0.2.1")]
    [InlineData("192.0.2.1", 0, "192.0.2.1")]
    [InlineData("192.0.2.1", 16, "192.0.2.1")]
    [InlineData("203.0.113.9, 192.0.2.1, 10.0.0.1", 1, "192.0.2.1")]
    [InlineData("203.0.113.9, 192.0.2.1, 10.0.0.1", 0, "10.0.0.1")]
    [InlineData("203.0.113.9, 192.0.2.1, 10.0.0.1", 2, "203.0.113.9")]
    [InlineData("203.0.113.9, 192.0.2.1, 10.0.0.1", 3, "203.0.113.9")]
    [InlineData("2001:db8::1,10.0.0.1", 1, "2001:db8::1")]
    [InlineData("[2001:db8::1]:4711, 10.0.0.1", 1, "2001:db8::1")]
    [InlineData("192.0.2.1:4711, 10.0.0.1", 1, "192.0.2.1")]
    [InlineData("unknown", 1, null)]
    [InlineData("192.0.2.1, _hidden, 10.0.0.1", 1, null)]
    [InlineData(", ,", 1, null)]
    [InlineData("", 1, null)]
    public void The_address_is_what_the_last_trusted_proxy_says(string field, int proxies, string? expected) =>
        Assert.Equal(expected, VisitorFilter.AddressIn(field, proxies)?.ToString());

    [Fact]
    public void Fields_of_one_name_are_one_list()
    {
        Assert.Equal("192.0.2.1", VisitorFilter.AddressIn(new StringValues(["192.0.2.1", "10.0.0.1"]), 1)?.ToString());
        Assert.Null(VisitorFilter.AddressIn(StringValues.Empty, 1));
        Assert.Null(VisitorFilter.SchemeIn(StringValues.Empty));
    }

    [Theory]
    [InlineData("https", "https")]
    [InlineData("HTTP", "http")]
    [InlineData("https, http", "https")]
    [InlineData("wss", null)]
    [InlineData("", null)]
    public void The_scheme_is_http_or_https_and_nothing_else(string field, string? expected) =>
        Assert.Equal(expected, VisitorFilter.SchemeIn(field));
}
