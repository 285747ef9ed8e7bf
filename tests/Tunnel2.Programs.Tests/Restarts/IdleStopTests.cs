using System.Net;
using System.Net.Sockets;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Restarts;

/// <summary>A ProxyEntry with nothing under way ends at once, with any connections.</summary>
public sealed class IdleStopTests
{
    /// <summary>Far more than it takes, and far less than the half minute that requests under way would have.</summary>
    private static readonly TimeSpan _atOnce = TimeSpan.FromSeconds(20);

    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task Agents_and_visitors_that_are_idle_hold_nothing_up(string engine)
    {
        await using var tunnel = await RealTunnel.StartAsync(engine);
        await using var used = await RawHttpClient.ConnectAsync(tunnel.Entry.Public);
        Assert.Equal(200, (await used.ExchangeAsync("/hash/1", tunnel.Host)).Head.StatusCode);
        await using var fresh = await RawHttpClient.ConnectAsync(tunnel.Entry.Public);
        await using var halfHead = await RawHttpClient.ConnectAsync(tunnel.Entry.Public);
        await halfHead.WriteAsync($"GET /hash/1 HTTP/1.1\r\nHost: {tunnel.Host}\r\nX-Half: ");
        await using var admin = await RawHttpClient.ConnectAsync(tunnel.Entry.Admin);
        Assert.Equal(200, (await admin.ExchangeAsync("/health/ready", "localhost")).Head.StatusCode);
        using var http2 = tunnel.CreateClient();
        http2.DefaultRequestVersion = HttpVersion.Version20;
        http2.DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact;
        using var answer = await http2.GetAsync(new Uri($"http://{tunnel.Host}/hash/1"), TestContext.Current.CancellationToken);
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        using var stranger = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await stranger.ConnectAsync(tunnel.Entry.Uplink, TestContext.Current.CancellationToken);

        tunnel.Entry.Runner.Terminate();

        Assert.Equal(0, await tunnel.Entry.Runner.WaitForExitAsync(_atOnce));
        Assert.DoesNotContain(
            tunnel.Entry.Runner.Lines, static line => line.Contains("The time to finish is over", StringComparison.Ordinal));
    }
}
