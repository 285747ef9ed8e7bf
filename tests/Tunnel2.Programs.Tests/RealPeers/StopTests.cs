using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>Both programs asked to stop: requests under way are finished, and the exit code is 0.</summary>
public sealed class StopTests
{
    [Theory]
    [InlineData(true, "epoll")]
    [InlineData(false, "epoll")]
    [InlineData(true, "portable")]
    public async Task A_request_under_way_is_finished_when_the_agent_is_asked_to_stop(bool interrupt, string engine)
    {
        await using var tunnel = await RealTunnel.StartAsync(engine);
        await using var held = await HeldAnswer.BeginAsync(tunnel);

        await StopAsync(tunnel.Agent, interrupt);

        await tunnel.Agent.WaitForLineAsync(static line => line.Contains("Draining", StringComparison.Ordinal));
        await held.EndAsync();
        Assert.Equal(0, await tunnel.Agent.WaitForExitAsync());
        Assert.Equal("Stopped", tunnel.Agent.Lines[^1]);
        Assert.Single(tunnel.Agent.Lines, static line => line.StartsWith("Draining", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(true, "epoll")]
    [InlineData(false, "epoll")]
    [InlineData(true, "portable")]
    public async Task A_request_under_way_is_finished_when_ProxyEntry_is_asked_to_stop(bool interrupt, string engine)
    {
        await using var tunnel = await RealTunnel.StartAsync(engine);
        await using var held = await HeldAnswer.BeginAsync(tunnel);

        await StopAsync(tunnel.Entry.Runner, interrupt);

        await tunnel.Entry.Runner.WaitForLineAsync(static line => line.Contains("Draining", StringComparison.Ordinal));
        await held.EndAsync();
        Assert.Equal(0, await tunnel.Entry.Runner.WaitForExitAsync());
        await tunnel.Agent.WaitForLineAsync(static line => line.Contains("going away", StringComparison.Ordinal));
    }

    [Fact]
    public async Task A_second_signal_ends_an_agent_that_is_still_draining()
    {
        await using var tunnel = await RealTunnel.StartAsync();
        await using var curl = ProcessRunner.Start("curl", ["-sSN", $"{tunnel.Url}/sse?count=0&interval=50"]);
        await curl.WaitForLineAsync(static line => line == "id: 1");
        tunnel.Agent.Terminate();
        await tunnel.Agent.WaitForLineAsync(static line => line.StartsWith("Draining", StringComparison.Ordinal));

        tunnel.Agent.Terminate();

        // The stream has no end: only the second signal ends it before the time to finish is over.
        Assert.Equal(143, await tunnel.Agent.WaitForExitAsync());
        Assert.NotEqual(0, await curl.WaitForExitAsync());
    }

    private static async Task StopAsync(ProcessRunner process, bool interrupt)
    {
        if (interrupt)
        {
            await Shell.InterruptAsync(process);
        }
        else
        {
            process.Terminate();
        }
    }
}
