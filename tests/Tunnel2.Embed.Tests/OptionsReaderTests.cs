using Tunnel2.Client.Core.Configuration;
using Tunnel2.Embed.Connections;

namespace Tunnel2.Embed.Tests;

public sealed class OptionsReaderTests
{
    [Theory]
    [InlineData("https://tunnel.example.com", "tunnel.example.com:12001", null, true)]
    [InlineData("https://tunnel.example.com/", "tunnel.example.com:12001", null, true)]
    [InlineData("HTTPS://tunnel.example.com:8443", "tunnel.example.com:12001", 8443, true)]
    [InlineData("https://[2001:db8::1]:8443/", "[2001:db8::1]:12001", 8443, true)]
    [InlineData("http://localhost:12000", "localhost:12001", 12000, false)]
    [InlineData("tls://tunnel.example.com:4000", "tunnel.example.com:4000", null, true)]
    [InlineData("tcp://127.0.0.1:4000", "127.0.0.1:4000", null, false)]
    [InlineData("tunnel.example.com", "tunnel.example.com:12001", null, true)]
    [InlineData("wss://tunnel.example.com", "tunnel.example.com:443", 443, true)]
    public void A_server_is_written_as_a_public_url_or_as_its_uplink_port(string text, string server, int? publicPort, bool isTls)
    {
        var options = Read(text, new Tunnel2EmbedOptions());
        Assert.Equal(server, options.Server.ToString());
        Assert.Equal(publicPort, options.PublicPort);
        Assert.Equal(isTls, options.Tls is not null);
        Assert.Equal("this app", options.Upstream.ToString());
    }

    [Theory]
    [InlineData("https://user:secret@tunnel.example.com")]
    [InlineData("https://tunnel.example.com/base")]
    [InlineData("https://tunnel.example.com?x")]
    [InlineData("https://")]
    [InlineData("https://host:99999")]
    [InlineData("ftp://tunnel.example.com")]
    [InlineData("a b")]
    public void Anything_else_is_a_mistake_of_the_server(string text)
    {
        var exception = Assert.Throws<Tunnel2OptionsException>(() => Read(text, new Tunnel2EmbedOptions()));
        Assert.StartsWith("Server: ", Assert.Single(exception.Failures), StringComparison.Ordinal);
        Assert.DoesNotContain("secret", exception.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Another_scheme_is_refused_with_those_that_belong_there()
    {
        var exception = Assert.Throws<Tunnel2OptionsException>(() => Read("ftp://tunnel.example.com", new Tunnel2EmbedOptions()));
        Assert.Contains("https://", Assert.Single(exception.Failures), StringComparison.Ordinal);
        Assert.Contains("tls://", exception.Failures[0], StringComparison.Ordinal);
    }

    [Fact]
    public void All_options_reach_the_agent()
    {
        var options = new Tunnel2EmbedOptions
        {
            Name = "Web",
            Token = "t-1",
            AllowPlaintextToken = true,
            Uplinks = 3,
            Proxy = "http://proxy.example:3128",
        };
        options.BasicAuth.Add("anna:secret");
        options.BasicAuth.Add("ben:secret");
        options.AllowIp.Add("192.0.2.0/24");
        options.DenyIp.Add("192.0.2.7");
        options.ServerFingerprints.Add("sha256:" + new string('a', 64));
        options.ServerFingerprints.Add("sha256:" + new string('b', 64));
        var agent = Read("https://tunnel.example.com", options);
        Assert.Equal(("web", "t-1", true), (agent.Name, agent.Token, agent.AllowPlaintextToken));
        Assert.Equal(3, agent.Uplinks.Count);
        Assert.Equal("proxy.example", agent.Proxy!.Host);
        Assert.Equal(["anna", "ben"], agent.Access!.Users.Select(static user => user.Name));
        Assert.Equal((1, 1), (agent.Access.Allowed.Count, agent.Access.Denied.Count));
        Assert.Equal(2, agent.Tls!.ServerFingerprints.Count);
    }

    [Fact]
    public void A_name_that_is_not_given_is_made_and_differs()
    {
        var names = Enumerable.Range(0, 2).Select(static _ => Read("localhost", new Tunnel2EmbedOptions()).Name).ToArray();
        Assert.All(names, static name => Assert.Equal(10, name.Length));
        Assert.NotEqual(names[0], names[1]);
    }

    [Theory]
    [InlineData("3000", "rewrite")]
    [InlineData("http://localhost:3000/base", "app.local")]
    public void A_service_elsewhere_is_written_as_for_the_agents_program(string service, string hostHeader)
    {
        var settings = OptionsReader.Read(new Tunnel2AgentOptions
        {
            Server = "localhost",
            Service = service,
            HostHeader = hostHeader,
            StartRequiresTunnel = true,
        });
        Assert.True(settings.StartRequiresTunnel);
        Assert.Equal(3000, settings.Agent.Upstream.Port);
        Assert.Equal(hostHeader, settings.Agent.HostHeader.ToString());
    }

    [Theory]
    [InlineData(30, 27)]
    [InlineData(4, 1)]
    [InlineData(2, 1)]
    [InlineData(0, 1)]
    [InlineData(600, 597)]
    [InlineData(-1, 86_400)]
    public void A_drain_leaves_the_host_time_for_the_rest(int shutdown, int expected) =>
        Assert.Equal(TimeSpan.FromSeconds(expected), TunnelService.DrainLimitOf(TimeSpan.FromSeconds(shutdown)));

    private static AgentOptions Read(string server, Tunnel2EmbedOptions options) =>
        OptionsReader.Read(options, server, new EmbeddedApp()).Agent;
}
