using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Restarts;

/// <summary>
/// ProxyEntry on the sockets of <c>tunnel2-ports</c>, as in docker-compose.yml: what comes while one ProxyEntry is replaced by the next
/// waits in them. Small here; <c>load-tests/restarts/run.sh sockets</c> makes more rounds.
/// </summary>
public sealed class HeldPortsTests
{
    private static readonly int _rounds = RestartTests.Number("TUNNEL2_RESTART_ROUNDS", 2);
    private static readonly int _rate = RestartTests.Number("TUNNEL2_RESTART_RATE", 100);

    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task No_request_fails_while_one_ProxyEntry_is_replaced_by_the_next(string engine)
    {
        await using var ports = await HeldPorts.StartAsync("public", "https", "uplink", "admin");
        string[] arguments = [$"--Tunnel2:Engine={engine}", "--Tunnel2:Public:Certificate=self-made"];
        var entry = ports.StartEntry(arguments);
        try
        {
            await entry.WaitForLineAsync(static line => line.Contains("Ready: ", StringComparison.Ordinal), Limits.Start);
            var port = (await SharedBackend.GetAddressAsync()).Port;
            await using var agent = BuiltPrograms.StartAgent(
                ["http", $"{port}", "--name", RealTunnel.Name, "--server", ports["uplink"].ToString()]);
            await agent.WaitForLineAsync(static line => line.StartsWith("Forwarding ", StringComparison.Ordinal), Limits.Start);
            await using var visitors = SteadyVisitors.Start(ports["public"], _rate, _ => $"{RealTunnel.Name}.localhost");
            using var stop = new CancellationTokenSource();
            var secured = VisitOverTlsAsync(ports["https"], stop.Token);
            await visitors.MoreAsync(_rate);
            var outages = new List<Outage>();
            var idle = new List<RawHttpClient>();
            for (var round = 1; round <= _rounds; round++)
            {
                var began = visitors.Elapsed;
                entry.Terminate();
                Assert.Equal(0, await entry.WaitForExitAsync());

                // As in the other test: what crosses the end of an idle connection is no request that was lost.
                outages.Add(new Outage(began, visitors.Elapsed, TimeSpan.MinValue));
                await entry.DisposeAsync();

                // More than a start has places for at first: they are there for those who have waited, and none is ended for them.
                idle.AddRange(await Task.WhenAll(Enumerable.Range(0, 40).Select(_ => RawHttpClient.ConnectAsync(ports["public"]))));
                entry = ports.StartEntry(arguments);
                await entry.WaitForLineAsync(static line => line.Contains("Ready: ", StringComparison.Ordinal), Limits.Start);
                await visitors.MoreAsync(_rate * 2);
                Assert.DoesNotContain(entry.Lines, static line => line.Contains("[2212]", StringComparison.Ordinal));
            }

            var all = await visitors.StopAsync();
            SteadyReport.Write($"{_rounds} restarts on sockets of tunnel2-ports ({engine})", all);
            SteadyReport.AssertNoneFailed(all, outages);
            await Task.WhenAll(idle.Select(static connection => connection.DisposeAsync().AsTask()));
            await stop.CancelAsync();
            var (answered, problem) = await secured;
            SteadyReport.WriteLine($"over TLS: {answered} requests, all whole");
            Assert.Null(problem);
            Assert.True(answered > _rounds, "too few came over TLS to show anything");
        }
        finally
        {
            await entry.DisposeAsync();
        }
    }

    [Fact]
    public async Task Visitors_agents_and_health_checks_that_come_before_any_ProxyEntry_are_served_by_the_first()
    {
        await using var ports = await HeldPorts.StartAsync("admin", "public", "uplink");
        await using var early = await RawHttpClient.ConnectAsync(ports["public"]);
        await early.SendRequestAsync("/", "nobody.example");
        await using var health = await RawHttpClient.ConnectAsync(ports["admin"]);
        await health.SendRequestAsync("/health/live", ports["admin"].ToString());
        await using var agent = BuiltPrograms.StartAgent(["http", "9", "--name", RealTunnel.Name, "--server", ports["uplink"].ToString()]);
        await agent.WaitForLineAsync(static line => line.StartsWith("Connecting to ", StringComparison.Ordinal), Limits.Start);

        await using var entry = ports.StartEntry();

        Assert.Equal(404, (await early.ReadHeadAsync()).StatusCode);
        Assert.Equal(200, (await health.ReadHeadAsync()).StatusCode);
        await agent.WaitForLineAsync(static line => line.StartsWith("Forwarding ", StringComparison.Ordinal), Limits.Start);
        Assert.DoesNotContain(agent.Lines, static line => line.StartsWith("Trying again", StringComparison.Ordinal));
        await entry.WaitForLineAsync(
            line =>
                line.Contains($"[2210] Listening sockets of {ports.SocketPath} are used: public, uplink, admin", StringComparison.Ordinal),
            Limits.Start);
    }

    [Fact]
    public async Task The_end_of_the_holder_is_the_end_of_ProxyEntry_which_another_start_heals()
    {
        await using var ports = await HeldPorts.StartAsync("public", "uplink", "admin");
        await using var entry = ports.StartEntry();
        await entry.WaitForLineAsync(static line => line.Contains("Ready: ", StringComparison.Ordinal), Limits.Start);

        ports.Process.Kill();

        Assert.Equal(1, await entry.WaitForExitAsync(Limits.Start));
        Assert.Contains(
            entry.Lines,
            line => line.Contains($"[2221] The holder of the listening sockets has ended ({ports.SocketPath})", StringComparison.Ordinal));
        await using var next = BuiltPrograms.StartPorts(
            "--socket", ports.SocketPath, $"public={ports["public"]}", "uplink=127.0.0.1:0", "admin=127.0.0.1:0");
        await using var healed = ports.StartEntry();
        await healed.WaitForLineAsync(
            line => line.Contains($"Listening for visitors on http://{ports["public"]}", StringComparison.Ordinal), Limits.Start);
    }

    [Fact]
    public async Task A_start_that_waits_for_the_holder_says_so_and_can_be_stopped()
    {
        using var folder = new TemporaryFolder();
        await using var entry = BuiltPrograms.StartEntry([$"--Tunnel2:ListenersFrom={folder["nobody.sock"]}"]);
        await entry.WaitForLineAsync(
            line =>
                line == $"tunnel2-entry: no listening sockets at {folder["nobody.sock"]} yet: there is nothing; waiting up to 30 s for "
                    + $"tunnel2-ports",
            Limits.Start);

        entry.Terminate();

        Assert.Equal(0, await entry.WaitForExitAsync());
    }

    [Fact]
    public async Task An_address_of_a_socket_is_judged_like_one_of_the_settings()
    {
        await using var ports = await HeldPorts.StartAsync("public");
        await using var entry = ports.StartEntry($"--Tunnel2:Uplink:Listen={ports["public"]}");

        Assert.Equal(2, await entry.WaitForExitAsync(Limits.Start));

        Assert.Contains(
            entry.Lines,
            line =>
                line.Contains(
                    $"Tunnel2:Uplink:Listen: {ports["public"]} is already used by Tunnel2:Public:HttpListen", StringComparison.Ordinal));
    }

    [Fact]
    public async Task The_holder_stops_at_once_and_leaves_nothing()
    {
        await using var ports = await HeldPorts.StartAsync("public");

        ports.Process.Terminate();

        Assert.Equal(0, await ports.Process.WaitForExitAsync());
        Assert.False(File.Exists(ports.SocketPath));
        using var visitor = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await Assert.ThrowsAsync<SocketException>(() => visitor.ConnectAsync(ports["public"]));
    }

    /// <summary>One request after the other over TLS, each on a connection of its own; the first that fails ends it.</summary>
    /// <returns>How many were answered, and what the last one met with instead of an answer, if anything.</returns>
    private static async Task<(int Answered, string? Problem)> VisitOverTlsAsync(IPEndPoint entry, CancellationToken stop)
    {
        for (var answered = 0; ; answered++)
        {
            if (stop.IsCancellationRequested)
            {
                return (answered, null);
            }

            using var handler = new SocketsHttpHandler
            {
                SslOptions = new SslClientAuthenticationOptions
                {
                    RemoteCertificateValidationCallback = static (_, certificate, _, _) =>
                        certificate?.Issuer.Contains("tunnel2", StringComparison.OrdinalIgnoreCase) == true,
                },
            };
            using var client = new HttpClient(handler) { Timeout = TimeSpan.FromSeconds(30) };
            using var request = new HttpRequestMessage(HttpMethod.Get, $"https://{entry}/bytes/2000")
            {
                Headers = { Host = $"{RealTunnel.Name}.localhost" },
            };
            try
            {
                using var response = await client.SendAsync(request, CancellationToken.None);
                var body = await response.Content.ReadAsByteArrayAsync(CancellationToken.None);
                if (response.StatusCode != HttpStatusCode.OK)
                {
                    return (answered, $"{response.StatusCode}: {Encoding.UTF8.GetString(body)}");
                }

                PatternBytes.Verify(body, 0);
            }
            catch (HttpRequestException failure)
            {
                return (answered, failure.ToString());
            }
            catch (OperationCanceledException)
            {
                return (answered, "no answer within 30 s");
            }
        }
    }
}
