using System.Net;
using System.Security.Authentication;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Https;

/// <summary>Visitors without TLS, and what those with TLS get, over real sockets and in both versions of HTTP.</summary>
public sealed class RedirectTests
{
    private static readonly string[] _https = ["Public:HttpsListen=127.0.0.1:0", "Public:Certificate=self-made", "Https:Redirect=on"];

    [Fact]
    public Task Visitors_without_TLS_are_redirected_and_the_connection_stays() => RunAsync(async tunnel =>
    {
        var origin = $"https://{TunnelFixture.Host}:{tunnel.Entry.Https.Port}";
        await using var visitor = await tunnel.ConnectAsync();
        var (first, body) = await visitor.ExchangeAsync("/a?b=c", $"{TunnelFixture.Host}:12000");
        Assert.Equal((308, origin + "/a?b=c", 0), (first.StatusCode, first["Location"], body.Bytes.Length));
        var longest = "/" + new string('x', 8000);
        Assert.Equal(origin + longest, (await visitor.ExchangeAsync(longest, TunnelFixture.Host, "HEAD")).Head["Location"]);
        Assert.Null(first["Strict-Transport-Security"]);

        // The name of another server is not redirected there.
        Assert.Equal(404, (await visitor.ExchangeAsync("/", "evil.example")).Head.StatusCode);

        using var client = tunnel.CreateClient();
        using var request = new HttpRequestMessage(HttpMethod.Post, "/upload")
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = new StringContent("a form"),
        };
        using var answer = await client.SendAsync(request);
        Assert.Equal((308, origin + "/upload"), ((int)answer.StatusCode, answer.Headers.Location!.ToString()));
    });

    [Fact]
    public Task Visitors_with_TLS_are_served_and_asked_to_remember() => RunAsync(
        async tunnel =>
        {
            await using var visitor = await RawHttpClient.ConnectTlsAsync(tunnel.Entry.Https, TunnelFixture.Host);
            var (head, _) = await visitor.ExchangeAsync("/", TunnelFixture.Host);
            Assert.Equal((200, "max-age=7200"), (head.StatusCode, head["Strict-Transport-Security"]));
            Assert.Equal(
                "max-age=7200", (await visitor.ExchangeAsync("/", "nobody.example")).Head["Strict-Transport-Security"]);
        },
        "Https:Hsts=2h");

    [Theory]
    [InlineData("X-Forwarded-Proto: https\r\n", 200)]
    [InlineData("X-Forwarded-Proto: HTTPS, http\r\n", 200)]
    [InlineData("Forwarded: for=192.0.2.1;proto=\"https\", for=10.0.0.1\r\n", 200)]
    [InlineData("X-Forwarded-Proto: http\r\nForwarded: proto=https\r\n", 308)]
    [InlineData("", 308)]
    public async Task What_a_trusted_proxy_took_over_HTTPS_is_served(string fields, int status)
    {
        await RunAsync(
            async tunnel =>
            {
                var (head, _) = await tunnel.ExchangeAsync("/", fields: fields);
                Assert.Equal((status, status == 200 ? "max-age=7200" : null), (head.StatusCode, head["Strict-Transport-Security"]));
            },
            "TrustedProxies=127.0.0.1",
            "Https:Hsts=2h");

        // Of all others it is not believed.
        await RunAsync(async tunnel => Assert.Equal(308, (await tunnel.ExchangeAsync("/", fields: fields)).Head.StatusCode));
    }

    [Theory]
#pragma warning disable CA5397, SYSLIB0039 // Old versions are what is tried.
    [InlineData(SslProtocols.Tls11, false)]
#pragma warning restore CA5397, SYSLIB0039
    [InlineData(SslProtocols.Tls12, true)]
    [InlineData(SslProtocols.Tls13, true)]
    public async Task TLS_is_of_version_1_2_or_1_3(SslProtocols version, bool isServed)
    {
        await using var entry = await EntryFixture.StartAsync(null, "Public:HttpsListen=127.0.0.1:0", "Public:Certificate=self-made");
        if (isServed)
        {
            await using var tls = await Tls.ConnectAsync(entry, "web.localhost", version);
            Assert.Equal(version, tls.SslProtocol);
        }
        else
        {
            await Assert.ThrowsAnyAsync<Exception>(() => Tls.ConnectAsync(entry, "web.localhost", version));
        }
    }

    private static Task RunAsync(Func<TunnelFixture, Task> test, params string[] settings) =>
        TunnelFixture.RunAsync(Mirror.ServeAsync, test, new TunnelSetup { Settings = [.. _https, .. settings] });
}
