using Tunnel2.ProxyEntry.Oidc;

namespace Tunnel2.ProxyEntry.Tests.Oidc;

/// <summary>Addresses in a provider's discovery document, which may lie.</summary>
public sealed class OidcBackchannelTests
{
    private static readonly Uri _provider = new("https://id.example.com/");
    private static readonly Uri _local = new("http://127.0.0.1:9000/");

    [Theory]
    [InlineData("https://id.example.com/auth?client_id=a", true)]
    [InlineData("https://login.example.net/auth", true)]
    [InlineData("http://id.example.com/auth", false)]
    [InlineData("http://127.0.0.1/auth", false)]
    [InlineData("javascript:alert(1)", false)]
    [InlineData("file:///etc/passwd", false)]
    [InlineData("/auth", false)]
    [InlineData("", false)]
    [InlineData("https://id.example.com/\r\nSet-Cookie: a=b", false)]
    [InlineData("https://id.example.com/\u20ac", false)]
    public void A_visitor_is_sent_to_pages_over_https_alone(string address, bool may) =>
        Assert.Equal(may, OidcBackchannel.MayLeadTo(_provider, address));

    [Fact]
    public void A_provider_on_this_machine_may_do_without_https_and_no_address_is_endless()
    {
        Assert.True(OidcBackchannel.MayLeadTo(_local, "http://127.0.0.1:9000/auth"));
        Assert.False(OidcBackchannel.MayLeadTo(_local, "http://id.example.com/auth"));
        Assert.False(OidcBackchannel.MayLeadTo(_provider, "https://id.example.com/" + new string('a', 100_000)));
    }

    [Theory]
    [InlineData("https://id.example.com/token", true)]
    [InlineData("http://id.example.com/token", false)]
    [InlineData("http://127.0.0.1/token", false)]
    [InlineData("file:///etc/passwd", false)]
    public async Task Secrets_and_codes_go_over_https_alone(string address, bool may)
    {
        using var connections = new CountedConnections();
        using var client = new HttpClient(new OidcBackchannel(_provider, connections));
        using var code = new FormUrlEncodedContent([new("code", "1")]);
        var sent = client.PostAsync(new Uri(address), code);
        if (may)
        {
            (await sent).Dispose();
        }
        else
        {
            await Assert.ThrowsAnyAsync<Exception>(() => sent);
        }

        Assert.Equal(may ? 1 : 0, connections.Count);
    }

    private sealed class CountedConnections : HttpMessageHandler
    {
        public int Count { get; private set; }

        protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
        {
            Count++;
            return Task.FromResult(new HttpResponseMessage());
        }
    }
}
