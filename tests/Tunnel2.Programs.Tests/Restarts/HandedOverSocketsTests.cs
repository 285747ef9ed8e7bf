using System.Globalization;
using System.Net;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Restarts;

/// <summary>
/// ProxyEntry on sockets that another process holds, as systemd does: what comes while it is restarted waits in them. Small here;
/// <c>load-tests/restarts/run.sh sockets</c> makes more rounds.
/// </summary>
public sealed class HandedOverSocketsTests
{
    private static readonly int _rounds = RestartTests.Number("TUNNEL2_RESTART_ROUNDS", 2);
    private static readonly int _rate = RestartTests.Number("TUNNEL2_RESTART_RATE", 100);

    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task No_request_fails_while_ProxyEntry_is_restarted(string engine)
    {
        using var holder = new SocketHolder("public", "uplink", "admin");
        string[] arguments = [$"--Tunnel2:Engine={engine}"];
        var entry = holder.StartEntry(arguments);
        try
        {
            await entry.WaitForLineAsync(static line => line.Contains("Ready: ", StringComparison.Ordinal), Limits.Start);
            var port = (await SharedBackend.GetAddressAsync()).Port;
            await using var agent = BuiltPrograms.StartAgent(
                ["http", $"{port}", "--name", RealTunnel.Name, "--server", holder["uplink"].ToString()]);
            await agent.WaitForLineAsync(static line => line.StartsWith("Forwarding ", StringComparison.Ordinal), Limits.Start);
            await using var visitors = SteadyVisitors.Start(holder["public"], _rate, _ => $"{RealTunnel.Name}.localhost");
            await visitors.MoreAsync(_rate);
            var outages = new List<Outage>();
            for (var round = 1; round <= _rounds; round++)
            {
                var began = visitors.Elapsed;
                entry.Terminate();
                Assert.Equal(0, await entry.WaitForExitAsync());
                var ended = visitors.Elapsed;

                // No visitor may be refused. What crosses the end of an idle connection is no request that was lost: every client sends it
                // again.
                outages.Add(new Outage(began, ended, TimeSpan.MinValue));
                await entry.DisposeAsync();
                entry = holder.StartEntry(arguments);
                await entry.WaitForLineAsync(static line => line.Contains("Ready: ", StringComparison.Ordinal), Limits.Start);
                SteadyReport.WriteLine(string.Create(
                    CultureInfo.InvariantCulture,
                    $"round {round}: stopped in {(ended - began).TotalMilliseconds:0} ms, ready "
                        + $"{(visitors.Elapsed - ended).TotalMilliseconds:0} ms later"));
                await visitors.MoreAsync(_rate * 2);
            }

            var all = await visitors.StopAsync();
            SteadyReport.Write($"{_rounds} restarts on sockets that were handed over ({engine})", all);
            SteadyReport.AssertNoneFailed(all, outages);
        }
        finally
        {
            await entry.DisposeAsync();
        }
    }

    [Fact]
    public async Task A_visitor_who_comes_while_no_process_runs_is_served_by_the_next_one_and_so_is_the_admin_listener()
    {
        using var holder = new SocketHolder("admin", "public", "uplink");
        await using var early = await RawHttpClient.ConnectAsync(holder["public"]);
        await early.SendRequestAsync("/", "nobody.example");
        await using var health = await RawHttpClient.ConnectAsync(holder["admin"]);
        await health.SendRequestAsync("/health/live", holder["admin"].ToString());

        await using var entry = holder.StartEntry();

        Assert.Equal(404, (await early.ReadHeadAsync()).StatusCode);
        Assert.Equal(200, (await health.ReadHeadAsync()).StatusCode);
        await entry.WaitForLineAsync(
            static line =>
                line.Contains(
                    "[2210] Listening sockets of the starter of this process are used: public, uplink, admin", StringComparison.Ordinal),
            Limits.Start);
        await entry.WaitForLineAsync(
            line => line.Contains($"Listening for agents on {holder["uplink"]} ", StringComparison.Ordinal), Limits.Start);
    }

    [Fact]
    public async Task An_address_of_a_socket_is_judged_like_one_of_the_settings()
    {
        // The public listener's socket for agents too: the same port twice. And what has no name that is known.
        using var holder = new SocketHolder("public", "web");
        await using var entry = holder.StartEntry($"--Tunnel2:Uplink:Listen={holder["public"]}");

        Assert.Equal(2, await entry.WaitForExitAsync(Limits.Start));

        Assert.Contains(
            entry.Lines,
            static line =>
                line.Contains(
                    "LISTEN_FDNAMES: socket 4 (\"web\"): a socket is called public, https, uplink or admin", StringComparison.Ordinal));
        Assert.Contains(
            entry.Lines,
            line =>
                line.Contains(
                    $"Tunnel2:Uplink:Listen: {holder["public"]} is already used by Tunnel2:Public:HttpListen", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Sockets_that_were_meant_for_another_process_are_left_alone()
    {
        var free = new IPEndPoint(IPAddress.Loopback, FreePort.Next());
        await using var entry = ProcessRunner.Start(
            "dotnet",
            [
                BuiltPrograms.EntryPath, $"--Tunnel2:Public:HttpListen={free}", "--Tunnel2:Uplink:Listen=127.0.0.1:0",
                "--Tunnel2:Admin:Listen=127.0.0.1:0",
            ],
            new Dictionary<string, string?> { ["LISTEN_PID"] = "1", ["LISTEN_FDS"] = "1", ["LISTEN_FDNAMES"] = "public" },
            Path.GetTempPath());

        await entry.WaitForLineAsync(
            line => line.Contains($"Listening for visitors on http://{free}", StringComparison.Ordinal), Limits.Start);
        Assert.DoesNotContain(entry.Lines, static line => line.Contains("[2210]", StringComparison.Ordinal));
    }
}
