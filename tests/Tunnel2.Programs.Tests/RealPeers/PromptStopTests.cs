using System.Diagnostics;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>How soon both programs stop that have nothing to finish.</summary>
[Collection(RealProcessesCollection.Name)]
public sealed class PromptStopTests
{
    [Fact]
    public async Task An_idle_agent_and_ProxyEntry_stop_within_a_second()
    {
        await using var tunnel = await RealTunnel.StartAsync();
        await AssertStopsWithinASecondAsync(() => tunnel.Agent, tunnel.StartAgentAgainAsync);
        await AssertStopsWithinASecondAsync(() => tunnel.Entry.Runner, tunnel.Entry.StartAgainAsync);
    }

    [Fact]
    public async Task An_agent_that_still_tries_to_connect_stops_at_once()
    {
        await Promptness.AssertWithinAsync(TimeSpan.FromSeconds(1), static async _ =>
        {
            using var port = new RefusedPort();
            await using var agent = BuiltPrograms.StartAgent(["http", "3000", "--server", $"127.0.0.1:{port.Port}"]);
            await agent.WaitForLineAsync(static line => line.Contains("connection refused", StringComparison.Ordinal));
            await Shell.InterruptAsync(agent);
            var asked = Stopwatch.GetTimestamp();
            Assert.Equal(0, await agent.WaitForExitAsync());
            return asked;
        });
    }

    private static Task AssertStopsWithinASecondAsync(Func<ProcessRunner> process, Func<Task> startAgain) =>
        Promptness.AssertWithinAsync(TimeSpan.FromSeconds(1), async number =>
        {
            if (number > 0)
            {
                await startAgain();
            }

            process().Terminate();
            var asked = Stopwatch.GetTimestamp();
            Assert.Equal(0, await process().WaitForExitAsync());
            return asked;
        });
}
