using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Restarts;

/// <summary>SIGHUP: a terminal is closed, or an operator expects that files are read again.</summary>
public sealed class HangUpTests
{
    [Fact]
    public async Task ProxyEntry_serves_on_and_an_agent_ends_in_order()
    {
        await using var tunnel = await RealTunnel.StartAsync();
        tunnel.Entry.Runner.HangUp();
        await tunnel.Entry.Runner.WaitForLineAsync(static line => line.Contains("SIGHUP changes nothing", StringComparison.Ordinal));
        await VisitAsync(tunnel.Entry);

        tunnel.Agent.HangUp();
        Assert.Equal(0, await tunnel.Agent.WaitForExitAsync());
        await tunnel.Entry.Runner.WaitForLineAsync(static line => line.Contains("(Shutdown: All is done.", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Under_nohup_an_agent_outlives_its_terminal()
    {
        await using var entry = await EntryProcess.StartAsync();
        var backend = await SharedBackend.GetAddressAsync();
        await using var agent = ProcessRunner.Start(
            "env",
            [
                "--ignore-signal=HUP", "dotnet", BuiltPrograms.AgentPath, "http", $"{backend.Port}", "--name", "web",
                "--server", entry.Uplink.ToString(),
            ]);
        await agent.WaitForLineAsync(static line => line.StartsWith("Forwarding ", StringComparison.Ordinal), Limits.Start);

        agent.HangUp();

        // A mask of the signals that the process ignores; the first one is this.
        var ignored = File.ReadLines($"/proc/{agent.Id}/status").First(static line => line.StartsWith("SigIgn:", StringComparison.Ordinal));
        Assert.EndsWith("1", Convert.ToString(Convert.ToInt64(ignored[7..].Trim(), 16), 2), StringComparison.Ordinal);
        await VisitAsync(entry);
    }

    [Fact]
    public async Task The_holder_of_the_sockets_keeps_them()
    {
        await using var ports = await HeldPorts.StartAsync("public");
        ports.Process.HangUp();
        await using (var first = ports.StartEntry("--Tunnel2:Uplink:Listen=127.0.0.1:0", "--Tunnel2:Admin:Listen=127.0.0.1:0"))
        {
            await first.WaitForLineAsync(static line => line.Contains("Ready: ", StringComparison.Ordinal), Limits.Start);
        }

        Assert.False(ports.Process.HasExited);
    }

    private static async Task VisitAsync(EntryProcess entry)
    {
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Public);
        Assert.Equal(200, (await visitor.ExchangeAsync("/hash/1", $"web.localhost:{entry.Public.Port}")).Head.StatusCode);
    }
}
