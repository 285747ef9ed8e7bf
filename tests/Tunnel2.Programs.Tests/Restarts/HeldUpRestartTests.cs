using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Restarts;

/// <summary>
/// An agent that is restarted while a stream without end holds it up to the end of its grace: half a minute in which it waits, so it has a
/// class of its own beside the others.
/// </summary>
public sealed class HeldUpRestartTests
{
    private static readonly int _rate = RestartTests.Number("TUNNEL2_RESTART_RATE", 100);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task No_request_fails_while_the_agent_is_restarted_beside_a_stream_without_end(bool waitsForExit)
    {
        // Longer than a busy machine takes to start a process, and far shorter than the grace of the agent.
        await using var tunnel = await RealTunnel.StartWithAsync(["--Tunnel2:Timeouts:Park=12s"]);
        await using var curl = ProcessRunner.Start("curl", ["-sSN", $"{tunnel.Url}/sse?count=0&interval=100"]);
        await curl.WaitForLineAsync(static line => line == "id: 1");
        await using var visitors = SteadyVisitors.Start(tunnel.Entry.Public, _rate, _ => tunnel.Host);
        await visitors.MoreAsync(_rate / 2);
        tunnel.Agent.Terminate();
        if (waitsForExit)
        {
            Assert.Equal(0, await tunnel.Agent.WaitForExitAsync(Limits.Work));
            await tunnel.StartAgentAgainAsync();
            await visitors.MoreAsync(_rate);
        }
        else
        {
            await tunnel.Agent.WaitForLineAsync(static line => line.StartsWith("Draining", StringComparison.Ordinal));
            await using var successor = await RealTunnel.StartAgentAsync(tunnel.Entry, tunnel.BackendAddress.Port);
            await visitors.MoreAsync(_rate * 2);
            Assert.False(tunnel.Agent.HasExited);
            Assert.False(curl.HasExited);
            SteadyReport.AssertNoneFailed(visitors.Results);

            // Without its visitor nothing holds it.
            curl.Terminate();
            Assert.Equal(0, await tunnel.Agent.WaitForExitAsync());
            await visitors.MoreAsync(_rate / 2);
            SteadyReport.AssertNoneFailed(await visitors.StopAsync());
            return;
        }

        var results = await visitors.StopAsync();
        SteadyReport.Write("a restart of the agent beside a stream without end", results);
        SteadyReport.AssertNoneFailed(results);
        Assert.NotEqual(0, await curl.WaitForExitAsync());
    }
}
