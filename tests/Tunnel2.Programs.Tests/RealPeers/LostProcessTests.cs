using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>What visitors see of processes that are killed or frozen.</summary>
public sealed class LostProcessTests
{
    [Fact]
    public async Task A_visitor_of_a_killed_ProxyEntry_sees_an_error_and_the_backend_learns_it()
    {
        await using var tunnel = await RealTunnel.StartAsync("auto", "--verbose");
        await using var curl = ProcessRunner.Start(
            "bash",
            [
                "-c",
                "curl -sS -N -m 30 $1 | { head -n 1; cat >/dev/null; }; echo curl ${PIPESTATUS[0]}",
                "bash",
                $"{tunnel.Url}/sse?count=0&interval=50",
            ]);
        await curl.WaitForLineAsync(static line => line.StartsWith("id:", StringComparison.Ordinal));

        tunnel.Entry.Runner.Kill();

        var end = await curl.WaitForLineAsync(static line => line.StartsWith("curl ", StringComparison.Ordinal));
        Assert.True(end is "curl 18" or "curl 56", $"Expected a broken transfer, got '{end}'.");
        // The exchange is over for the agent too, which lets the backend's connection go.
        await tunnel.Agent.WaitForLineAsync(static line => line.Contains("GET /sse", StringComparison.Ordinal));
    }

    [Fact]
    public async Task An_agent_that_was_frozen_for_a_while_continues_with_the_same_download()
    {
        await using var tunnel = await RealTunnel.StartAsync();
        await using var curl = ProcessRunner.Start("curl", ["-sSN", "-m", "30", $"{tunnel.Url}/sse?count=40&interval=50"]);
        await curl.WaitForLineAsync(static line => line == "id: 3");
        tunnel.Agent.Suspend();
        // A visitor who comes in that time and gives up must not be in the way of the others afterwards.
        var impatient = await Shell.CurlAsync("--max-time", "3", $"{tunnel.Url}/hash/1");
        Assert.Equal(28, impatient.ExitCode);

        tunnel.Agent.Resume();

        Assert.Equal(0, await curl.WaitForExitAsync());
        Assert.Equal(40, curl.Lines.Count(static line => line.StartsWith("id: ", StringComparison.Ordinal)));
        (await Shell.CurlAsync("--fail", $"{tunnel.Url}/hash/1")).EnsureSuccess();
    }
}
