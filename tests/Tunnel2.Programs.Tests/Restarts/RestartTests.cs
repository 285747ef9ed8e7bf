using System.Globalization;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Programs.Tests.Processes;

namespace Tunnel2.Programs.Tests.Restarts;

/// <summary>
/// Both programs stopped by SIGTERM and started again while visitors keep coming. Small here; <c>load-tests/restarts/run.sh</c> makes ten
/// rounds of each at 200 requests a second.
/// </summary>
public sealed class RestartTests
{
    private static readonly int _rounds = Number("TUNNEL2_RESTART_ROUNDS", 2);
    private static readonly int _rate = Number("TUNNEL2_RESTART_RATE", 100);

    [Fact]
    public async Task No_request_fails_while_the_agent_is_restarted()
    {
        // Longer than a busy machine takes to start a process.
        await using var tunnel = await RealTunnel.StartWithAsync(["--Tunnel2:Timeouts:Park=12s"]);
        await using var visitors = SteadyVisitors.Start(tunnel.Entry.Public, _rate, _ => tunnel.Host);
        await visitors.MoreAsync(_rate);
        for (var round = 1; round <= _rounds; round++)
        {
            var began = visitors.Elapsed;
            tunnel.Agent.Terminate();
            Assert.Equal(0, await tunnel.Agent.WaitForExitAsync());
            var ended = visitors.Elapsed;
            await tunnel.StartAgentAgainAsync();
            SteadyReport.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"round {round}: stopped in {(ended - began).TotalMilliseconds:0} ms, back "
                    + $"{(visitors.Elapsed - ended).TotalMilliseconds:0} ms later"));
            await visitors.MoreAsync(_rate);
        }

        var results = await visitors.StopAsync();
        SteadyReport.Write($"{_rounds} restarts of the agent", results);
        SteadyReport.AssertNoneFailed(results);
    }

    [Fact]
    public async Task No_request_fails_while_a_second_agent_takes_over_from_the_first()
    {
        const string Token = "restart-test-token";
        var port = (await SharedBackend.GetAddressAsync()).Port;
        await using var entry = await EntryProcess.StartAsync($"--Tunnel2:Agents:a:TokenHash={EntryTokens.HashSetting(Token)}");
        var agent = await RealTunnel.StartAgentAsync(entry, port, "auto", "--token", Token);
        try
        {
            await using var visitors = SteadyVisitors.Start(entry.Public, _rate, static _ => $"{RealTunnel.Name}.localhost");
            await visitors.MoreAsync(_rate / 2);
            for (var round = 0; round < _rounds; round++)
            {
                var successor = await RealTunnel.StartAgentAsync(entry, port, "auto", "--token", Token);

                // After the report that it was superseded, it has finished what it had.
                Assert.Equal(3, await agent.WaitForExitAsync());
                await agent.DisposeAsync();
                agent = successor;
                await visitors.MoreAsync(_rate / 2);
            }

            var results = await visitors.StopAsync();
            SteadyReport.Write($"{_rounds} takeovers", results);
            SteadyReport.AssertNoneFailed(results);
        }
        finally
        {
            await agent.DisposeAsync();
        }
    }

    [Fact]
    public async Task No_accepted_request_fails_while_ProxyEntry_is_restarted_and_the_next_are_served_soon()
    {
        await using var tunnel = await RealTunnel.StartAsync();
        await using var visitors = SteadyVisitors.Start(tunnel.Entry.Public, _rate, _ => tunnel.Host);
        await visitors.MoreAsync(_rate);
        var outages = new List<Outage>();
        for (var round = 1; round <= _rounds; round++)
        {
            var began = visitors.Elapsed;
            tunnel.Entry.Runner.Terminate();
            Assert.Equal(0, await tunnel.Entry.Runner.WaitForExitAsync());
            var ended = visitors.Elapsed;
            await tunnel.Entry.StartAgainAsync();
            outages.Add(new Outage(began, ended, visitors.Elapsed));
            await visitors.MoreAsync(_rate * 2);
            var results = visitors.Results.Where(result => result.Started > ended).ToList();

            // The listener was back when the first one was not refused any more.
            var back = results.Where(static result => result.Problem != SteadyResult.Refused).Min(static result => result.Started);
            var served = results.Where(static result => result.Problem is null).Min(static result => result.Started + result.Took);
            SteadyReport.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"round {round}: stopped in {(ended - began).TotalMilliseconds:0} ms, listening {(back - ended).TotalMilliseconds:0} ms "
                    + $"later, served {(served - back).TotalMilliseconds:0} ms after that"));
            Assert.InRange((served - back).TotalSeconds, 0, 3);
        }

        var all = await visitors.StopAsync();
        SteadyReport.Write($"{_rounds} restarts of ProxyEntry", all);
        SteadyReport.AssertNoneFailed(all, outages);
    }

    /// <summary>A number of the environment, by which load-tests/restarts/run.sh makes the tests larger.</summary>
    internal static int Number(string variable, int otherwise) =>
        Environment.GetEnvironmentVariable(variable) is { Length: > 0 } text ? int.Parse(text, CultureInfo.InvariantCulture) : otherwise;
}
