using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Session;
using Tunnel2.FunctionalTests.Administration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Https;

/// <summary>
/// A server behind a reverse proxy that owns the URL of the visitors: what its agents print, what it says itself, and where it sends
/// visitors.
/// </summary>
public sealed class VisitorUrlTests : IDisposable
{
    private const string Token = "visitor-url-token";

    private static readonly string[] _behindProxy =
    [
        "Domain=example.com", "TrustedProxies=127.0.0.1", "Agents:web:TokenHash=" + EntryTokens.HashSetting(Token),
        "Agents:web:Names=web,app.example.org",
    ];

    private readonly TemporaryFolder _folder = new();

    private string[] SelfMade => ["Public:HttpsListen=127.0.0.1:0", "Public:Certificate=self-made", "StateFolder=" + _folder["state"]];

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("https://{name}.{Domain}", "https://", "")]
    [InlineData("https://{name}.example.com:8443", "https://", ":8443")]
    [InlineData("http://{name}.{Domain}:8080", "http://", ":8080")]
    public async Task Agents_print_it_and_the_API_and_the_log_show_it(string setting, string scheme, string port)
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var entry = await EntryFixture.StartAsync(null, [.. _behindProxy, .. SelfMade, "Public:Url=" + setting]);
        using var api = new AdminApi(entry);
        foreach (var (name, host) in new[] { ("web", "web.example.com"), ("app.example.org", "app.example.org") })
        {
            var url = scheme + host + port;
            var options = AgentFixture.Options(entry.Uplink.Port, backend.Port, name) with { Token = Token };
            await using (var agent = await AgentFixture.StartReadyAsync(options))
            {
                Assert.Equal([url], agent.Events.PublicUrls);
                var session = await api.GetAsync("sessions/" + name);
                Assert.Equal([url], session.GetProperty("urls").EnumerateArray().Select(static one => one.GetString()));

                // Visitors come through the proxy, which says how.
                await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
                var (head, _) = await visitor.ExchangeAsync("/", host + port, "GET", "X-Forwarded-Proto: " + scheme[..^3] + "\r\n");
                Assert.Equal(200, head.StatusCode);
                Assert.Equal(0, await agent.StopAsync());
            }

            await entry.WaitForSessionsAsync(0);
            Assert.Contains(await PrintedAsync(options), line => line == $"Forwarding {url} -> http://127.0.0.1:{backend.Port}");
            await entry.WaitForSessionsAsync(0);
            Assert.Contains(entry.Log.All, line => line.Text.Contains($" {url} ", StringComparison.Ordinal));
        }

        Assert.Equal(
            $"Ready: tunnels appear as {scheme}{{name}}.example.com{port}",
            Assert.Single(entry.Log.All, static line => line.EventId == 2203).Text.TrimEnd());
        entry.Log.AssertNoErrors();
    }

    [Theory]
    [InlineData("on", "https://{name}.{Domain}", "")]
    [InlineData("on", "https://{name}.{Domain}:8443", ":8443")]
    [InlineData("9443", "https://{name}.{Domain}:8443", ":9443")]
    public async Task A_redirect_to_HTTPS_leads_to_its_port_and_not_to_that_of_the_listener(string redirect, string url, string port)
    {
        foreach (var more in new[] { [], SelfMade })
        {
            await TunnelFixture.RunAsync(
                Mirror.ServeAsync,
                async tunnel =>
                {
                    foreach (var host in new[] { "web.example.com", "web.example.com:8080" })
                    {
                        var (head, _) = await tunnel.ExchangeAsync("/a?b=c", host: host);
                        Assert.Equal((308, $"https://web.example.com{port}/a?b=c"), (head.StatusCode, head["Location"]));
                        (head, _) = await tunnel.ExchangeAsync("/a?b=c", fields: "X-Forwarded-Proto: https\r\n", host: host);
                        Assert.Equal(200, head.StatusCode);
                    }
                },
                new TunnelSetup
                {
                    Settings = [.. _behindProxy, .. more, "Https:Redirect=" + redirect, "Public:Url=" + url],
                    Agent = static options => options with { Token = Token },
                });
        }
    }

    /// <summary>The lines of an agent that stops as soon as it has printed a URL.</summary>
    private static async Task<string[]> PrintedAsync(AgentOptions options)
    {
        using var stop = new CancellationTokenSource();
        using var engine = TestEngine.Create();
        await using var output = new StringWriter { NewLine = "\n" };
        var printed = new AsyncCounter("lines with a URL");
        var formatter = new HumanEventFormatter(options.Server, verbose: false, (_, _) =>
        {
            // Asked after the line.
            printed.Increment();
            return Task.FromResult(true);
        });
        await using (var events = new AgentEventWriter(formatter, output, TimeProvider.System, wantsRequests: false))
        {
            var running = new TunnelAgent(engine, TimeProvider.System).RunAsync(options, events, stop.Token);
            await Task.WhenAny(printed.WaitForAsync(1), running);
            await stop.CancelAsync();
            Assert.Equal(0, await running);
        }

        return output.ToString().Split('\n');
    }
}
