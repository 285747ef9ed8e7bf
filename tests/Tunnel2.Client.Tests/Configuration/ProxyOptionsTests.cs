using Tunnel2.Client.Core.Configuration;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Configuration;

/// <summary>Through which proxy the agent goes, by flag and by the variables that all programs read.</summary>
public sealed class ProxyOptionsTests
{
    [Theory]
    [InlineData("http://proxy:3128", ProxyKind.Http, "proxy", 3128, null, null)]
    [InlineData("proxy:3128", ProxyKind.Http, "proxy", 3128, null, null)]
    [InlineData("HTTP://proxy/", ProxyKind.Http, "proxy", 80, null, null)]
    [InlineData("http://jo:pa%40ss@[::1]:8080", ProxyKind.Http, "::1", 8080, "jo", "pa@ss")]
    [InlineData("http://jo:p@ss@proxy", ProxyKind.Http, "proxy", 80, "jo", "p@ss")]
    [InlineData("http://jo@proxy:1", ProxyKind.Http, "proxy", 1, "jo", "")]
    [InlineData("https://proxy", ProxyKind.Https, "proxy", 443, null, null)]
    [InlineData("HTTPS://jo:pa%40ss@proxy:3129/", ProxyKind.Https, "proxy", 3129, "jo", "pa@ss")]
    [InlineData("socks5://proxy", ProxyKind.Socks5, "proxy", 1080, null, null)]
    [InlineData("socks5h://jo:a:b@proxy:9", ProxyKind.Socks5, "proxy", 9, "jo", "a:b")]
    public void A_proxy_is_read(string text, ProxyKind kind, string host, int port, string? user, string? password)
    {
        Assert.Null(ProxyAddress.TryParse(text, out var proxy));
        Assert.Equal(new ProxyAddress(kind, host, port) { User = user, Password = password }, proxy);
        Assert.DoesNotContain("@", proxy!.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("https://jo:s3cret@proxy:99999")]
    [InlineData("https://j%3Ao:s3cret@proxy:3128")]
    [InlineData("ftp://jo:s3cret@proxy:3128")]
    [InlineData("http://jo:s3cret@proxy:99999")]
    [InlineData("http://jo:s3cret@")]
    [InlineData("http://jo:s3cret@proxy/path")]
    [InlineData("http://:s3cret@proxy:1")]
    [InlineData("http://j%3Ao:s3cret@proxy:1")]
    [InlineData("http://jo:s3cret%0d%0aX@proxy:1")]
    [InlineData("")]
    public void What_is_no_proxy_is_said_without_its_secret(string text)
    {
        var mistake = ProxyAddress.TryParse(text, out var proxy);
        Assert.Null(proxy);
        Assert.NotNull(mistake);
        Assert.DoesNotContain("s3cret", mistake, StringComparison.Ordinal);
        Assert.NotNull(ProxyAddress.TryParse($"http://{new string('u', 256)}@proxy", out _));
    }

    [Theory]
    [InlineData("tunnel.example.com", "example.com", true)]
    [InlineData("tunnel.example.com", ".example.com", true)]
    [InlineData("tunnel.example.com", "*.EXAMPLE.com", true)]
    [InlineData("tunnel.example.com", "tunnel.example.com:12001", true)]
    [InlineData("tunnel.example.com", "tunnel.example.com:443", false)]
    [InlineData("badexample.com", "example.com", false)]
    [InlineData("example.com.evil", "example.com", false)]
    [InlineData("tunnel.example.com", "*", true)]
    [InlineData("tunnel.example.com", "localhost, 10.0.0.0/8 ,, example.com", true)]
    [InlineData("10.1.2.3", "10.0.0.0/8", true)]
    [InlineData("11.1.2.3", "10.0.0.0/8", false)]
    [InlineData("10.1.2.3", "10.1.2.3", true)]
    [InlineData("2001:db8::1", "2001:db8::/32", true)]
    [InlineData("2001:db8::1", "[2001:db8:0::1]:12001", true)]
    [InlineData("10.1.2.3", "2.3", false)]
    [InlineData("tunnel.example.com", "", false)]
    [InlineData("tunnel.example.com", "///,:::,%", false)]
    public void Exceptions_are_names_addresses_and_networks(string host, string exceptions, bool isExcepted) =>
        Assert.Equal(isExcepted, ProxyOptionsParser.IsExcepted(exceptions, new ServerEndpoint(host, 12001)));

    [Theory]
    [InlineData("tunnel.example.com", null, "http://envproxy:1", null, "http://envproxy:1")]
    [InlineData("tunnel.example.com", "http://flagproxy:2", "http://envproxy:1", "*", "http://flagproxy:2")]
    [InlineData("tunnel.example.com", "off", "http://envproxy:1", null, null)]
    [InlineData("tunnel.example.com", null, "http://envproxy:1", "example.com", null)]
    [InlineData("127.0.0.1", null, "http://envproxy:1", null, null)]
    [InlineData("localhost", null, "http://envproxy:1", null, null)]
    [InlineData("127.0.0.1", "http://flagproxy:2", null, null, "http://flagproxy:2")]
    public void The_flag_counts_first_and_variables_not_for_this_machine(
        string host, string? flag, string? variable, string? exceptions, string? expected)
    {
        var parsed = Parse(host, input => input
            .Give("--proxy", flag)
            .Give(ProxyOptionsParser.EnvironmentKey, variable, "https_proxy")
            .Give(ProxyOptionsParser.ExceptionsKey, exceptions));
        Assert.Equal(expected, parsed.Options!.Proxy?.ToString());
    }

    [Fact]
    public void A_mistake_names_the_variable_and_options_never_print_the_secret()
    {
        var wrong = Parse("tunnel.example.com", input => input.Give(
            ProxyOptionsParser.EnvironmentKey, "ftp://jo:s3cret@proxy", "https_proxy"));
        Assert.Equal("https_proxy", Assert.Single(wrong.Mistakes).Flag);
        Assert.DoesNotContain("s3cret", wrong.Mistakes[0].ToString(), StringComparison.Ordinal);
        var good = Parse("tunnel.example.com", input => input.Give("--proxy", "http://jo:s3cret@proxy"));
        Assert.DoesNotContain("s3cret", good.Options!.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void A_file_of_authorities_is_for_a_proxy_that_speaks_tls()
    {
        var folder = Directory.CreateTempSubdirectory("tunnel2-proxy-").FullName;
        var file = Path.Combine(folder, "ca.pem");
        var now = DateTimeOffset.UnixEpoch;
        using (var certificate = SelfMadeCertificate.Create("proxy", now, now.AddYears(90)))
        {
            File.WriteAllText(file, certificate.ExportCertificatePem());
        }

        Assert.Equal(file, Of("https://proxy", file).Options!.Proxy!.AuthoritiesFile);
        Assert.Null(Of("https://proxy", null).Options!.Proxy!.AuthoritiesFile);
        Assert.Empty(Of("off", "/nowhere").Mistakes);
        foreach (var (proxy, wrong) in new[] { ("http://proxy", file), ("https://proxy", "/nowhere"), ("https://proxy", " ") })
        {
            Assert.Equal("--proxy-ca", Assert.Single(Of(proxy, wrong).Mistakes).Flag);
        }

        Directory.Delete(folder, recursive: true);

        static AgentOptionsParseResult Of(string proxy, string? file) =>
            Parse("tunnel.example.com", input => input.Give("--proxy", proxy).Give("--proxy-ca", file));
    }

    [Theory]
    [InlineData("wss://tunnel.example.com", "tunnel.example.com:443", true)]
    [InlineData("ws://127.0.0.1:12000/", "127.0.0.1:12000", false)]
    [InlineData("ws://tunnel.example.com", "tunnel.example.com:80", false)]
    [InlineData("WSS://[::1]:8443", "[::1]:8443", true)]
    public void A_public_address_of_the_server_is_reached_over_WebSocket(string server, string expected, bool isTls)
    {
        var options = Parse(server).Options!;
        Assert.Equal(
            (expected, expected, UplinkWay.WebSocket, isTls),
            (options.Server.ToString(), options.WebSocketServer.ToString(), options.Uplink, options.Tls is not null));
    }

    [Theory]
    [InlineData("wss://tunnel.example.com", "--uplink", "direct", "--uplink")]
    [InlineData("wss://tunnel.example.com", "--public-port", "443", "--public-port")]
    [InlineData("wss://tunnel.example.com/path", "--uplink", "auto", "--server")]
    [InlineData("wsx://tunnel.example.com", "--uplink", "auto", "--server")]
    [InlineData("tunnel.example.com", "--uplink", "quic", "--uplink")]
    [InlineData("tunnel.example.com", "--public-port", "0", "--public-port")]
    public void What_contradicts_is_said(string server, string flag, string value, string mistaken) =>
        Assert.Contains(Parse(server, input => input.Give(flag, value)).Mistakes, mistake => mistake.Flag == mistaken);

    private static AgentOptionsParseResult Parse(string server, Func<AgentOptionsInput, AgentOptionsInput>? more = null)
    {
        var input = new AgentOptionsInput().Give("<upstream>", "3000").Give("--server", server);
        return AgentOptionsParser.Parse(more is null ? input : more(input));
    }
}
