using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Tests.Configuration;

public sealed class BackendTargetTests
{
    [Theory]
    [InlineData("3000", "http://127.0.0.1:3000", "127.0.0.1:3000")]
    [InlineData(":3000", "http://127.0.0.1:3000", "127.0.0.1:3000")]
    [InlineData("host:3000", "http://host:3000", "host:3000")]
    [InlineData("10.0.0.1:80", "http://10.0.0.1", "10.0.0.1")]
    [InlineData("[::1]:3000", "http://[::1]:3000", "[::1]:3000")]
    [InlineData("http://host:3000", "http://host:3000", "host:3000")]
    [InlineData("http://host:3000/", "http://host:3000", "host:3000")]
    [InlineData("http://host:3000/base", "http://host:3000/base", "host:3000")]
    [InlineData("http://host:3000/base/", "http://host:3000/base", "host:3000")]
    [InlineData("http://host", "http://host", "host")]
    [InlineData("https://host", "https://host", "host")]
    [InlineData("HTTPS://host:8443/a/b", "https://host:8443/a/b", "host:8443")]
    [InlineData("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443", "[2001:db8::1]:8443")]
    [InlineData("http://host:443", "http://host:443", "host:443")]
    public void An_upstream_is_a_port_a_host_with_port_or_a_url(string text, string url, string hostHeader)
    {
        Assert.Null(BackendTarget.TryParse(text, out BackendTarget? target));
        Assert.NotNull(target);
        Assert.Equal(url, target.ToString());
        Assert.Equal(hostHeader, target.HostHeader);
    }

    [Fact]
    public void The_parts_of_a_url_are_told_apart()
    {
        Assert.Null(BackendTarget.TryParse("https://[::1]/base/", out BackendTarget? target));
        Assert.Equal(new BackendTarget(true, "::1", 443, "/base"), target);
    }

    [Theory]
    [InlineData("0")]
    [InlineData("65536")]
    [InlineData("99999999999")]
    [InlineData(":")]
    [InlineData("host")]
    [InlineData("::1")]
    [InlineData("host:port")]
    [InlineData("a b:80")]
    [InlineData("ws://host:80")]
    [InlineData("http://")]
    [InlineData("http://:3000")]
    [InlineData("http://host:0")]
    [InlineData("http://host:99999")]
    [InlineData("http://host/?a=b")]
    [InlineData("http://host/#a")]
    [InlineData("http://host/?")]
    public void What_is_no_upstream_is_refused(string text)
    {
        Assert.NotNull(BackendTarget.TryParse(text, out BackendTarget? target));
        Assert.Null(target);
    }

    [Fact]
    public void A_password_in_a_url_is_refused_and_not_repeated()
    {
        string? mistake = BackendTarget.TryParse("http://user:s3cret@host:3000/", out _);

        Assert.NotNull(mistake);
        Assert.DoesNotContain("s3cret", mistake, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("keep", null)]
    [InlineData("KEEP", null)]
    [InlineData("rewrite", "10.0.0.1:3000")]
    [InlineData("app.local", "app.local")]
    [InlineData("app.local:8080", "app.local:8080")]
    [InlineData("[::1]:8080", "[::1]:8080")]
    public void The_host_header_is_kept_rewritten_or_fixed(string text, string? sent)
    {
        Assert.Null(HostHeaderPolicy.TryParse(text, out HostHeaderPolicy policy));
        Assert.Equal(sent, policy.ValueFor(new BackendTarget(false, "10.0.0.1", 3000)));
    }

    [Theory]
    [InlineData("")]
    [InlineData("a b")]
    [InlineData("a\r\nX: y")]
    [InlineData("http://host")]
    [InlineData("host:99999")]
    public void What_is_no_host_header_is_refused(string text) => Assert.NotNull(HostHeaderPolicy.TryParse(text, out _));
}
