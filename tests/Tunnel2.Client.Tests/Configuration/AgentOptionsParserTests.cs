using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Tests.Configuration;

public sealed class AgentOptionsParserTests
{
    private static readonly AgentOptionsInput _minimal = new AgentOptionsInput().Give("<upstream>", "3000");

    [Theory]
    [InlineData("tcp", "--host-header", "rewrite", "belongs to 'http': no other tunnel knows requests")]
    [InlineData("tls", "--backend-protocol", "h2", "belongs to 'http': no other tunnel knows requests")]
    [InlineData("udp", "--backend-protocol", "auto", "belongs to 'http': no other tunnel knows requests")]
    [InlineData("tcp", "--inspect", "true", "belongs to 'http': no other tunnel knows requests")]
    [InlineData("tls", "--inspect-listen", "4041", "belongs to 'http': no other tunnel knows requests")]
    [InlineData("udp", "--inspect-mask", "key", "belongs to 'http': no other tunnel knows requests")]
    [InlineData("tcp", "--inspect-hosts", "a.example", "belongs to 'http': no other tunnel knows requests")]
    [InlineData("tcp", "--inspect-megabytes", "2", "belongs to 'http': no other tunnel knows requests")]
    [InlineData("tcp", "--nodes", "3", "belongs to 'http': the visitors of other tunnels come to one server")]
    [InlineData("http", "--proxy-ca", "ca.pem", "says nothing without a proxy, which --proxy or HTTPS_PROXY names")]
    [InlineData("http", "--public-port", "443", "says nothing with --uplink direct, which never goes there")]
    public void What_would_be_without_effect_is_said(string kind, string flag, string text, string mistake)
    {
        var input = new AgentOptionsInput().Give("protocol", kind).Give("<upstream>", "3000").Give(flag, text);
        var result = AgentOptionsParser.Parse(flag == "--public-port" ? input.Give("--uplink", "direct") : input);
        Assert.Equal(new OptionMistake(flag, mistake), Assert.Single(result.Mistakes));

        // A variable, or the top of a file, is for other tunnels too.
        input = new AgentOptionsInput().Give("protocol", kind).Give("<upstream>", "3000").Give(flag, text, "TUNNEL2_X", isForAll: true);
        Assert.Empty(AgentOptionsParser.Parse(flag == "--public-port" ? input.Give("--uplink", "direct") : input).Mistakes);
    }

    [Theory]
    [InlineData("--inspect-listen", "off")]
    [InlineData("--inspect", "false")]
    [InlineData("--nodes", "1")]
    public void What_asks_for_nothing_needs_no_effect(string flag, string text) =>
        Accepted(_minimal.Give("protocol", "tcp").Give(flag, text));

    [Fact]
    public void A_port_alone_is_enough()
    {
        AgentOptions options = Accepted(_minimal);

        Assert.Equal(new ServerEndpoint("127.0.0.1", 12001), options.Server);
        Assert.Equal(new BackendTarget(false, "127.0.0.1", 3000) { TriesIPv6Loopback = true }, options.Upstream);
        Assert.Null(options.Token);
        Assert.True(options.Uplinks.IsAuto);
        Assert.Equal(HostHeaderPolicy.Keep, options.HostHeader);
        Assert.False(options.ExitOnFailure || options.Verbose || options.Json);
    }

    [Theory]
    [InlineData("tunnel.example.com", "tunnel.example.com", 12001)]
    [InlineData("tunnel.example.com:443", "tunnel.example.com", 443)]
    [InlineData("10.1.2.3:1", "10.1.2.3", 1)]
    [InlineData("[::1]:65535", "::1", 65535)]
    [InlineData("[fe80::1]", "fe80::1", 12001)]
    [InlineData("::1", "::1", 12001)]
    [InlineData("my_host-2", "my_host-2", 12001)]
    public void A_server_is_a_host_with_or_without_a_port(string text, string host, int port)
    {
        Assert.Equal(new ServerEndpoint(host, port), Accepted(_minimal.Give("--server", text)).Server);
        Assert.Equal(new ServerEndpoint(host, port), Accepted(_minimal.Give("--server", text, "TUNNEL2_SERVER")).Server);
    }

    [Theory]
    [InlineData("")]
    [InlineData(":12001")]
    [InlineData("12001")]
    [InlineData("host:")]
    [InlineData("host:0")]
    [InlineData("host:65536")]
    [InlineData("host:+80")]
    [InlineData("host: 80")]
    [InlineData("a:b:80")]
    [InlineData("[::1")]
    [InlineData("[::1]x")]
    [InlineData("[host]:80")]
    [InlineData("1.2.3.256")]
    [InlineData("010.0.0.1")]
    [InlineData("0x7f.0.0.1")]
    [InlineData("0x7f000001")]
    [InlineData("[[::1]]:80")]
    [InlineData("[::ffff:010.0.0.1]")]
    [InlineData("-a")]
    [InlineData("a..b")]
    [InlineData("a b")]
    [InlineData("http://host:12001")]
    public void What_is_no_server_is_refused_by_the_flag_s_name(string text)
    {
        Assert.Equal("--server", Assert.Single(Refused(_minimal.Give("--server", text))).Flag);
    }

    [Fact]
    public void A_mistake_in_the_environment_names_the_variable()
    {
        Assert.Equal("TUNNEL2_SERVER", Assert.Single(Refused(_minimal.Give("--server", "a:b:c", "TUNNEL2_SERVER"))).Flag);
        Assert.Equal("TUNNEL2_TOKEN", Assert.Single(Refused(_minimal.Give("--token", "two words", "TUNNEL2_TOKEN"))).Flag);
    }

    [Fact]
    public void What_is_given_first_wins()
    {
        AgentOptions flags = Accepted(_minimal
            .Give("--server", "flag")
                .Give("--server", "env", "TUNNEL2_SERVER")
                .Give("--token", "tf")
                .Give("--token", "te", "TUNNEL2_TOKEN"));
        Assert.Equal(("flag", "tf"), (flags.Server.Host, flags.Token));

        AgentOptions environment = Accepted(_minimal.Give("--server", "env", "TUNNEL2_SERVER").Give("--token", "te", "TUNNEL2_TOKEN"));
        Assert.Equal(("env", "te"), (environment.Server.Host, environment.Token));
    }

    [Fact]
    public void Without_a_name_ten_random_characters_are_drawn_once()
    {
        AgentOptions first = Accepted(_minimal);
        AgentOptions second = Accepted(_minimal);

        Assert.Matches("^[a-z0-9]{10}$", first.Name);
        Assert.NotEqual(first.Name, second.Name);
        Assert.Equal(first.Name, (first with { Verbose = true }).Name);
    }

    [Fact]
    public void Every_agent_has_a_key_of_its_own()
    {
        AgentOptions first = Accepted(_minimal);

        Assert.Equal(16, first.InstanceKey.Length);
        Assert.False(first.InstanceKey.Span.SequenceEqual(Accepted(_minimal).InstanceKey.Span));
    }

    [Theory]
    [InlineData("a")]
    [InlineData("7")]
    [InlineData("ab")]
    [InlineData("abc")]
    [InlineData("a-1")]
    [InlineData("00000000-1111-2222-3333-444444444444")]
    [InlineData("abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij")]
    public void A_name_has_1_to_50_letters_digits_and_hyphens(string name) =>
        Assert.Equal(name, Accepted(_minimal.Give("--name", name)).Name);

    [Theory]
    [InlineData("")]
    [InlineData("-")]
    [InlineData("-ab")]
    [InlineData("ab-")]
    [InlineData("a_b")]
    [InlineData("a.b")]
    [InlineData("bücher")]
    [InlineData("abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijk")]
    public void What_is_no_name_is_refused(string name) =>
        Assert.Equal("--name", Assert.Single(Refused(_minimal.Give("--name", name))).Flag);

    [Fact]
    public void A_name_in_capitals_is_lowered_because_hosts_have_no_case() =>
        Assert.Equal("web", Accepted(_minimal.Give("--name", "WEB")).Name);

    [Theory]
    [InlineData("https://web.example.com")]
    [InlineData("HTTP://Web.example.com:12000/")]
    [InlineData("web.localhost:12000")]
    [InlineData("web.localhost")]
    [InlineData("web")]
    public void A_public_url_holds_the_name(string url) => Assert.Equal("web", Accepted(_minimal.Give("--url", url)).Name);

    [Theory]
    [InlineData("")]
    [InlineData("ftp://web.example.com")]
    [InlineData("https://web.example.com/path")]
    [InlineData("https://1.2.3.4")]
    [InlineData("[::1]:80")]
    [InlineData("https://-a.example.com")]
    [InlineData("https://user@web.example.com")]
    public void What_is_no_public_url_is_refused(string url) =>
        Assert.Equal("--url", Assert.Single(Refused(_minimal.Give("--url", url))).Flag);

    [Fact]
    public void A_name_and_a_url_must_agree()
    {
        Assert.Equal("web", Accepted(_minimal.Give("--name", "web").Give("--url", "web.example.com")).Name);
        Assert.Equal("--url", Assert.Single(Refused(_minimal.Give("--name", "web").Give("--url", "api.example.com"))).Flag);
    }

    [Theory]
    [InlineData(null, null, 65_536, 0)]
    [InlineData("1", "auto", 1, 0)]
    [InlineData("65536", "1000000", 65_536, 1_000_000)]
    public void Limits_of_requests_and_connections_are_read(string? streams, string? connections, int maxStreams, int count)
    {
        var options = Accepted(_minimal.Give("--streams", streams).Give("--backend-connections", connections));
        Assert.Equal((maxStreams, count), (options.MaxStreams, options.BackendConnections.Count));
    }

    [Theory]
    [InlineData("auto", 0)]
    [InlineData("AUTO", 0)]
    [InlineData("1", 1)]
    [InlineData("16", 16)]
    public void Uplinks_are_auto_or_a_number(string text, int count) =>
        Assert.Equal(count, Accepted(_minimal.Give("--uplinks", text)).Uplinks.Count);

    [Theory]
    [InlineData("")]
    [InlineData("0")]
    [InlineData("17")]
    [InlineData("-1")]
    [InlineData("+1")]
    [InlineData("two")]
    public void Other_uplinks_are_refused(string text) =>
        Assert.Equal("--uplinks", Assert.Single(Refused(_minimal.Give("--uplinks", text))).Flag);

    [Theory]
    [InlineData("auto", BackendProtocol.Auto)]
    [InlineData("h1", BackendProtocol.Http1)]
    [InlineData("H2", BackendProtocol.Http2)]
    public void The_version_of_http_towards_the_service_is_chosen(string text, BackendProtocol protocol) =>
        Assert.Equal(protocol, Accepted(_minimal.Give("--backend-protocol", text)).BackendProtocol);

    [Theory]
    [InlineData("3000", "h3")]
    [InlineData("3000", "")]
    [InlineData("h2c://h:1", "h1")]
    public void Another_version_is_refused_and_so_is_one_that_the_scheme_contradicts(string upstream, string text) => Assert.Equal(
        "--backend-protocol",
        Assert.Single(Refused(new AgentOptionsInput().Give("<upstream>", upstream).Give("--backend-protocol", text))).Flag);

    [Fact]
    public void All_mistakes_are_reported_at_once()
    {
        IReadOnlyList<OptionMistake> mistakes = Refused(new AgentOptionsInput()
            .Give("<upstream>", "70000")
            .Give("--server", "a:b:c")
            .Give("--name", "-")
            .Give("--token", "")
            .Give("--uplinks", "99")
            .Give("--host-header", "a b"));

        Assert.Equal(
            ["<upstream>", "--server", "--name", "--token", "--host-header", "--uplinks"], mistakes.Select(static mistake => mistake.Flag));
        Assert.All(mistakes, static mistake => Assert.DoesNotContain('\n', mistake.Message));
    }

    [Fact]
    public void A_token_is_in_no_message_and_no_printed_options()
    {
        Assert.All(
            Refused(_minimal.Give("--token", "s3cret s3cret")),
            static mistake => Assert.DoesNotContain("s3cret", mistake.ToString(), StringComparison.Ordinal));

        AgentOptionsInput input = _minimal.Give("--token", "s3cret").Give("--token", "s3cret", "TUNNEL2_TOKEN");
        string printed = Accepted(input).ToString();
        Assert.DoesNotContain("s3cret", input.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("s3cret", printed, StringComparison.Ordinal);
        Assert.DoesNotContain("InstanceKey", printed, StringComparison.Ordinal);
        Assert.Contains("Server = 127.0.0.1:12001", printed, StringComparison.Ordinal);
    }

    [Fact]
    public void The_older_form_gives_the_same_options()
    {
        AgentOptions options = Accepted(new AgentOptionsInput()
            .Give("--dev-session-id", "6F9619FF-8B86-D011-B42D-00C04FC964FF")
            .Give("--backend-host", "::1")
            .Give("--backend-port", "3000")
            .Give("--tunnel-host", "tunnel.example.com")
            .Give("--tunnel-port", "443")
            .Give("--token", "t"));

        Assert.Equal("6f9619ff-8b86-d011-b42d-00c04fc964ff", options.Name);
        Assert.Equal("http://[::1]:3000", options.Upstream.ToString());
        Assert.Equal(new ServerEndpoint("tunnel.example.com", 443), options.Server);
        Assert.Equal("t", options.Token);
    }

    [Fact]
    public void The_older_form_has_defaults_for_the_hosts_and_the_tunnel_port()
    {
        AgentOptions options = Accepted(new AgentOptionsInput()
            .Give("--dev-session-id", Guid.NewGuid().ToString())
            .Give("--backend-port", "3000"));

        Assert.Equal("http://127.0.0.1:3000", options.Upstream.ToString());
        Assert.Equal(ServerEndpoint.Default, options.Server);
    }

    [Fact]
    public void The_older_form_names_its_own_flags_in_mistakes()
    {
        IReadOnlyList<OptionMistake> mistakes = Refused(new AgentOptionsInput()
            .Give("--dev-session-id", "not-a-guid")
            .Give("--backend-host", "a b")
            .Give("--tunnel-host", "x:y")
            .Give("--tunnel-port", "0"));

        Assert.Equal(
            ["--backend-host", "--backend-port", "--tunnel-host", "--tunnel-port", "--dev-session-id"],
            mistakes.Select(static mistake => mistake.Flag));
    }

    [Theory]
    [InlineData("web", null, null, "--name")]
    [InlineData(null, "web.example.com", null, "--url")]
    [InlineData(null, null, "host", "--server")]
    public void The_older_form_does_not_mix_with_the_new_flags_of_the_same_meaning(string? name, string? url, string? server, string flag)
    {
        IReadOnlyList<OptionMistake> mistakes = Refused(new AgentOptionsInput()
            .Give("--dev-session-id", Guid.NewGuid().ToString())
            .Give("--backend-port", "3000")
            .Give("--tunnel-host", "127.0.0.1")
            .Give("--name", name)
            .Give("--url", url)
            .Give("--server", server));

        Assert.Equal(flag, Assert.Single(mistakes).Flag);
    }

    private static AgentOptions Accepted(AgentOptionsInput input)
    {
        AgentOptionsParseResult result = AgentOptionsParser.Parse(input);
        Assert.Empty(result.Mistakes);
        return Assert.IsType<AgentOptions>(result.Options);
    }

    private static IReadOnlyList<OptionMistake> Refused(AgentOptionsInput input)
    {
        AgentOptionsParseResult result = AgentOptionsParser.Parse(input);
        Assert.Null(result.Options);
        return result.Mistakes;
    }
}
