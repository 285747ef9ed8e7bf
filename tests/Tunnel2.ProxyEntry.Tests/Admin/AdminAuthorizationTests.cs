using System.Net;
using Microsoft.AspNetCore.Http;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Admin;

public sealed class AdminAuthorizationTests
{
    private readonly ManualTimeProvider _time = new();
    private readonly AdminAuthorization _authorization;

    public AdminAuthorizationTests() => _authorization = new AdminAuthorization(
        TokenHash.FromToken("s3cret-token"),
        new FailedAttempts(SettingsFixture.LoadValid("Uplink:FailuresPerMinute=3"), _time),
        TokenHash.FromToken("metrics-token"),
        ["admin.example"]);

    [Fact]
    public void After_some_wrong_tokens_an_address_has_to_wait_with_a_good_one_too()
    {
        for (var i = 0; i < 3; i++)
        {
            Assert.Equal((AdminAccess.WrongToken, 0), Check("10.0.0.1", header: $"Bearer wrong{i}"));
        }

        Assert.Equal((AdminAccess.TooManyAttempts, 20), Check("10.0.0.1", header: "Bearer s3cret-token"));
        Assert.Equal((AdminAccess.TooManyAttempts, 20), Check("10.0.0.1", protocol: "s3cret-token"));
        Assert.Equal((AdminAccess.Allowed, 0), Check("10.0.0.2", header: "Bearer s3cret-token"));
        _time.Advance(TimeSpan.FromSeconds(20));
        Assert.Equal((AdminAccess.Allowed, 0), Check("10.0.0.1", header: "Bearer s3cret-token"));
    }

    [Fact]
    public void A_missing_token_is_no_attempt()
    {
        for (var i = 0; i < 100; i++)
        {
            Assert.Equal((AdminAccess.WrongToken, 0), Check("10.0.0.1"));
            Assert.Equal((AdminAccess.WrongToken, 0), Check("10.0.0.1", header: "Basic czNjcmV0"));
        }

        Assert.Equal((AdminAccess.Allowed, 0), Check("10.0.0.1", protocol: "s3cret-token"));
    }

    [Fact]
    public void The_token_of_the_metrics_opens_them_and_nothing_else()
    {
        Assert.Equal((AdminAccess.Allowed, 0), CheckMetrics("10.0.0.1", "Bearer metrics-token"));
        Assert.Equal((AdminAccess.Allowed, 0), CheckMetrics("10.0.0.1", "Bearer s3cret-token"));
        Assert.Equal((AdminAccess.WrongToken, 0), Check("10.0.0.1", header: "Bearer metrics-token"));
        Assert.Equal((AdminAccess.WrongToken, 0), Check("10.0.0.1", protocol: "metrics-token"));
        Assert.Equal((AdminAccess.WrongToken, 0), Check("10.0.0.1", "Bearer metrics-token", "metrics-token"));

        // Shown where it opens nothing, it is a wrong token like any other.
        Assert.Equal((AdminAccess.TooManyAttempts, 20), CheckMetrics("10.0.0.1", "Bearer metrics-token"));
        Assert.Equal((AdminAccess.Allowed, 0), CheckMetrics("10.0.0.2", "Bearer metrics-token"));
    }

    [Fact]
    public void Wrong_tokens_for_the_metrics_are_limited_as_all_others()
    {
        for (var i = 0; i < 3; i++)
        {
            Assert.Equal((AdminAccess.WrongToken, 0), CheckMetrics("10.0.0.1", $"Bearer wrong{i}"));
        }

        Assert.Equal((AdminAccess.TooManyAttempts, 20), CheckMetrics("10.0.0.1", "Bearer metrics-token"));
        Assert.Equal((AdminAccess.TooManyAttempts, 20), Check("10.0.0.1", "Bearer s3cret-token"));
        _time.Advance(TimeSpan.FromSeconds(20));
        Assert.Equal((AdminAccess.Allowed, 0), CheckMetrics("10.0.0.1", "Bearer metrics-token"));
        Assert.Equal((AdminAccess.WrongToken, 0), CheckMetrics("10.0.0.3", null));
    }

    [Theory]
    [InlineData("s3cret-token", null)]
    [InlineData(null, "Bearer s3cret-token")]
    [InlineData("wrong", "Bearer s3cret-token")]
    [InlineData("s3cret-token", "Bearer wrong")]
    public void The_token_may_come_in_either_place(string? protocol, string? header) =>
        Assert.Equal((AdminAccess.Allowed, 0), Check("10.0.0.1", header, protocol));

    [Theory]
    [InlineData("localhost:12002", false)]
    [InlineData("127.0.0.1:12002", false)]
    [InlineData("[::1]:12002", false)]
    [InlineData("rebound.example", true)]
    [InlineData("localhost.example", true)]
    [InlineData("admin.example.org", true)]
    [InlineData("", true)]
    public void A_name_that_others_may_have_pointed_here_is_foreign_with_a_token_too(string host, bool isForeign)
    {
        var http = new DefaultHttpContext();
        http.Request.Host = new HostString(host);
        Assert.Equal(isForeign, new AdminAuthorization(null).IsForeign(http.Request));
        Assert.Equal(isForeign, _authorization.IsForeign(http.Request));
    }

    [Theory]
    [InlineData("admin.example")]
    [InlineData("Admin.Example:12002")]
    public void A_name_of_the_settings_is_not_foreign(string host)
    {
        var http = new DefaultHttpContext();
        http.Request.Host = new HostString(host);
        Assert.True(new AdminAuthorization(null).IsForeign(http.Request));
        Assert.False(_authorization.IsForeign(http.Request));
    }

    [Fact]
    public void Tokens_that_a_foreign_page_shows_are_no_attempts()
    {
        for (var i = 0; i < 10; i++)
        {
            Assert.Equal((AdminAccess.WrongHost, 0), Check("10.0.0.1", header: "Bearer wrong", host: "rebound.example"));
            Assert.Equal((AdminAccess.WrongHost, 0), Check("10.0.0.1", header: "Bearer s3cret-token", host: "rebound.example"));
        }

        Assert.Equal((AdminAccess.Allowed, 0), Check("10.0.0.1", header: "Bearer s3cret-token"));
    }

    private (AdminAccess Access, int Wait) Check(
        string address, string? header = null, string? protocol = null, string host = "localhost")
    {
        var access = _authorization.Check(Request(address, header, host), protocol, out var wait);
        return (access, wait);
    }

    private (AdminAccess Access, int Wait) CheckMetrics(string address, string? header)
    {
        var access = _authorization.CheckMetrics(Request(address, header), out var wait);
        return (access, wait);
    }

    private static HttpRequest Request(string address, string? header, string host = "localhost")
    {
        var http = new DefaultHttpContext();
        http.Request.Host = new HostString(host);
        http.Connection.RemoteIpAddress = IPAddress.Parse(address);
        http.Request.Headers.Authorization = header;
        return http.Request;
    }
}
