using System.Net;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

public sealed class PublicAddressesTests
{
    private static readonly string[] _bothListeners =
        ["Domain=example.com", "Public:HttpsListen=127.0.0.1:0", "Public:Certificate=self-made"];

    [Fact]
    public void The_bound_listeners_are_the_URLs_with_HTTPS_first_and_no_usual_port()
    {
        Assert.Equal(["https://web.example.com:8443", "http://web.example.com:8080"], Of(8080, 8443).All("web"));
        Assert.Equal(["https://web.example.com", "http://web.example.com"], Of(80, 443).All("web"));
        Assert.Equal(["https://app.example.org", "http://app.example.org"], Of(80, 443).All("app.example.org"));
        Assert.Equal(["http://web.example.com:443"], Of(443, null).All("web"));
    }

    [Theory]
    [InlineData("https://{name}.example.com", "https://", "")]
    [InlineData("http://{name}.{Domain}:12100", "http://", ":12100")]
    public void The_setting_takes_the_place_of_all_listeners(string setting, string scheme, string port)
    {
        var addresses = Of(8080, 8443, "Public:Url=" + setting);

        Assert.Equal([$"{scheme}web.example.com{port}"], addresses.All("web"));
        Assert.Equal([$"{scheme}web.example.com{port}"], addresses.Of(Sample.Session("web")));
        Assert.Equal($"{scheme}{{name}}.example.com{port}", addresses.Main("{name}"));
    }

    [Theory]
    [InlineData("app.example.org")]
    [InlineData("*.example.org")]
    public void A_domain_of_an_agent_has_its_own_host_and_the_settings_scheme_and_port(string domain) =>
        Assert.Equal([$"https://{domain}:8443"], Of(80, null, "Public:Url=https://{name}.example.com:8443").All(domain));

    [Fact]
    public void Tunnels_that_carry_no_HTTP_keep_their_own_ports()
    {
        var addresses = Of(8080, 8443, "Public:Url=https://{name}.example.com");

        Assert.Equal(["tcp://web.example.com:20001"], addresses.Of(Raw(SessionKind.Tcp)));
        Assert.Equal(["udp://web.example.com:20001"], addresses.Of(Raw(SessionKind.Udp)));
        Assert.Equal(["tls://web.example.com:8443"], addresses.Of(Raw(SessionKind.Tls)));
    }

    private static EntrySession Raw(SessionKind kind) =>
        Sample.Session("web", AgentIdentity.OfToken("a"), default, kind: kind, port: 20_001);

    private static PublicAddresses Of(int http, int? https, params string[] settings)
    {
        var addresses = new PublicAddresses(SettingsFixture.LoadValid([.. _bothListeners, .. settings]));
        addresses.Bound(new IPEndPoint(IPAddress.Loopback, http), https is { } port ? new IPEndPoint(IPAddress.Loopback, port) : null);
        return addresses;
    }
}
