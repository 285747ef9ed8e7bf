using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Hosting;

public sealed class EntryHostTests
{
    [Fact]
    public async Task Every_listener_serves_its_own_purpose_only()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var admin = await RawHttpClient.ConnectAsync(entry.Admin);
        Assert.Equal(200, (await admin.ExchangeAsync("/health/live", "127.0.0.1")).Head.StatusCode);
        Assert.Equal(200, (await admin.ExchangeAsync("/health/ready", "127.0.0.1")).Head.StatusCode);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        var (head, _) = await visitor.ExchangeAsync("/health/live", "127.0.0.1");
        Assert.Equal((404, "unknown-host"), (head.StatusCode, head["Tunnel2-Error"]));
        entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task A_service_behind_the_tunnel_owns_every_path_of_its_host() => await TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            foreach (var path in new[] { "/health/live", "/metrics", "/session/web/x", "/api", "/.well-known/tunnel2" })
            {
                var (head, body) = await tunnel.ExchangeAsync(path);
                Assert.Equal((200, path), (head.StatusCode, body.Request().Target));
            }
        });

    [Theory]
    [InlineData("Uplink:Listen")]
    [InlineData("Public:HttpListen")]
    [InlineData("Admin:Listen")]
    public async Task A_listener_whose_address_is_taken_stops_the_start_and_leaves_no_other_behind(string setting)
    {
        await using var taken = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        var free = FreePort.Next();
        var other = setting == "Uplink:Listen" ? "Public:HttpListen" : "Uplink:Listen";
        await Assert.ThrowsAnyAsync<IOException>(
            () => EntryFixture.StartAsync(null, $"{setting}={taken.EndPoint}", $"{other}=127.0.0.1:{free}"));
        await using var entry = await EntryFixture.StartAsync(null, $"{other}=127.0.0.1:{free}");
        Assert.Contains(free, new[] { entry.Http.Port, entry.Uplink.Port });
    }

    [Fact]
    public async Task Stopping_twice_is_stopping_once()
    {
        await using var entry = await EntryFixture.StartAsync();
        await entry.StopAsync();
        await entry.StopAsync();
        Assert.Single(entry.Log.All, static line => line.EventId == 2205);
    }

    [Fact]
    public async Task The_log_and_a_metric_say_which_engine_runs()
    {
        await using var entry = await EntryFixture.StartAsync();
        using var engine = TestEngine.Create();
        var name = engine.Loops.Count == 0 ? "portable" : "epoll";

        Assert.StartsWith(
            $"Engine {name}, event loops: {engine.Loops.Count}, processors: ",
            Assert.Single(entry.Log.All, static line => line.EventId == 2211).Text,
            StringComparison.Ordinal);
        Assert.Contains(
            $"tunnel2_entry_engine_loops{{engine=\"{name}\"}} {engine.Loops.Count}\n",
            System.Text.Encoding.UTF8.GetString(entry.Metrics.Collect()),
            StringComparison.Ordinal);
    }
}
