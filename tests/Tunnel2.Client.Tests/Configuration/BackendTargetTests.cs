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
    [InlineData("http://[fe80::1%eth0]:3000", "http://[fe80::1%eth0]:3000", "[fe80::1]:3000")]
    [InlineData("http://[fe80::1%2]", "http://[fe80::1%2]", "[fe80::1]")]
    [InlineData("http://host:443", "http://host:443", "host:443")]
    [InlineData("h2c://host:50051", "h2c://host:50051", "host:50051")]
    [InlineData("H2C://host", "h2c://host", "host")]
    [InlineData("h2c://[::1]:50051/base/", "h2c://[::1]:50051/base", "[::1]:50051")]
    public void An_upstream_is_a_port_a_host_with_port_or_a_url(string text, string url, string hostHeader)
    {
        Assert.Null(BackendTarget.TryParse(text, out BackendTarget? target));
        Assert.NotNull(target);
        Assert.Equal(url, target.ToString());
        Assert.Equal(hostHeader, target.HostHeader);
    }

    [Theory]
    [InlineData("h2c://host:1", true)]
    [InlineData("http://host:1", false)]
    [InlineData("https://host:1", false)]
    [InlineData("1", false)]
    public void The_scheme_h2c_says_that_the_service_speaks_http2(string text, bool isHttp2)
    {
        Assert.Null(BackendTarget.TryParse(text, out BackendTarget? target));
        Assert.Equal((isHttp2, false), (target!.IsHttp2, isHttp2 && target.IsHttps));
    }

    [Fact]
    public void The_parts_of_a_url_are_distinguished()
    {
        Assert.Null(BackendTarget.TryParse("https://[::1]/base/", out BackendTarget? target));
        Assert.Equal(new BackendTarget(true, "::1", 443, "/base"), target);
    }

    [Theory]
    [InlineData("unix:/run/app.sock", "/run/app.sock")]
    [InlineData("UNIX:///run/app.sock", "/run/app.sock")]
    public void A_service_may_listen_on_a_unix_socket(string text, string path)
    {
        Assert.Null(BackendTarget.TryParse(text, out BackendTarget? target));
        Assert.Equal((path, $"unix:{path}", "localhost", false), (target!.SocketPath, target.ToString(), target.HostHeader, target.IsRaw));
        Assert.Null(BackendTarget.TryParseRaw(text, out target));
        Assert.Equal((path, $"unix:{path}", true), (target!.SocketPath, target.ToString(), target.IsRaw));
    }

    [Theory]
    [InlineData("unix:")]
    [InlineData("unix:app.sock")]
    [InlineData("unix://")]
    [InlineData("unix:/a\0b")]
    public void A_path_that_no_socket_can_have_is_refused(string text)
    {
        Assert.NotNull(BackendTarget.TryParse(text, out BackendTarget? target));
        Assert.Null(target);
    }

    [Fact]
    public void A_path_may_have_as_many_bytes_as_the_system_takes()
    {
        Assert.Null(BackendTarget.TryParse("unix:/" + new string('a', 106), out _));
        Assert.NotNull(BackendTarget.TryParse("unix:/" + new string('a', 107), out _));
        Assert.NotNull(BackendTarget.TryParse("unix:/" + new string('é', 54), out _));
    }

    [Theory]
    [InlineData("npipe:app")]
    [InlineData("NPIPE:app")]
    [InlineData("npipe://./pipe/app")]
    [InlineData("npipe:////./pipe/app")]
    [InlineData(@"npipe:\\.\pipe\app")]
    [InlineData(@"npipe:\\.\PIPE\app")]
    public void A_service_may_listen_on_a_named_pipe(string text)
    {
        Assert.Null(BackendTarget.TryParse(text, out BackendTarget? target));
        Assert.Equal(("app", "npipe:app", "localhost", false), (target!.PipeName, target.ToString(), target.HostHeader, target.IsRaw));
        Assert.Null(BackendTarget.TryParseRaw(text, out target));
        Assert.Equal(("app", "npipe:app", true), (target!.PipeName, target.ToString(), target.IsRaw));
        Assert.NotNull(BackendTarget.TryParseRaw(text, out target, isDatagram: true));
        Assert.Null(target);
    }

    [Theory]
    [InlineData("npipe:")]
    [InlineData("npipe:/app")]
    [InlineData("npipe:a/b")]
    [InlineData(@"npipe:a\b")]
    [InlineData("npipe://")]
    [InlineData("npipe://./pipe/")]
    [InlineData("npipe://./pipe/a/b")]
    [InlineData("npipe://server/pipe/app")]
    [InlineData(@"npipe:\\server\pipe\app")]
    [InlineData("npipe://////./pipe/app")]
    [InlineData("npipe:..")]
    [InlineData("npipe:anonymous")]
    [InlineData("npipe:a\0b")]
    [InlineData("npipe:a\nb")]
    public void What_is_no_pipe_of_this_machine_is_refused(string text)
    {
        Assert.NotNull(BackendTarget.TryParse(text, out BackendTarget? target));
        Assert.Null(target);
        Assert.NotNull(BackendTarget.TryParseRaw(text, out target));
        Assert.Null(target);
    }

    [Fact]
    public void The_name_of_a_pipe_has_as_many_characters_as_Windows_takes()
    {
        Assert.Null(BackendTarget.TryParse("npipe:" + new string('a', 247), out _));
        Assert.NotNull(BackendTarget.TryParse("npipe:" + new string('a', 248), out _));
    }

    [Theory]
    [InlineData("22", "tcp://127.0.0.1:22", true)]
    [InlineData("host:22", "tcp://host:22", false)]
    [InlineData("[::1]:22", "tcp://[::1]:22", false)]
    [InlineData("tcp://host:22", "tcp://host:22", false)]
    [InlineData("TLS://10.0.0.1:443", "tcp://10.0.0.1:443", false)]
    public void A_service_without_http_is_a_port_or_a_host_with_port(string text, string shown, bool triesIPv6)
    {
        Assert.Null(BackendTarget.TryParseRaw(text, out BackendTarget? target));
        Assert.Equal((shown, true, triesIPv6), (target!.ToString(), target.IsRaw, target.TriesIPv6Loopback));
    }

    [Theory]
    [InlineData("host")]
    [InlineData("0")]
    [InlineData("http://host:80")]
    [InlineData("tcp://http://host:80")]
    [InlineData("tcp://host:22/path")]
    public void What_is_no_service_without_http_is_refused(string text)
    {
        Assert.NotNull(BackendTarget.TryParseRaw(text, out BackendTarget? target));
        Assert.Null(target);
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
