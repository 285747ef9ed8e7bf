using System.Text.Json;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary><c>tunnel2 start</c>: several tunnels in one process.</summary>
public sealed class SeveralTunnelsTests(SharedTunnels tunnels)
{
    [Fact]
    public async Task Each_tunnel_of_a_file_serves_one_that_is_refused_ends_alone_and_one_signal_stops_all()
    {
        var shared = await tunnels.GetAsync();
        using var folder = new TemporaryFolder();
        await File.WriteAllTextAsync(
            folder["tunnels.yml"],
            $"""
             server: {shared.Entry.Uplink}
             tunnels:
               - name: first
                 upstream: {shared.BackendAddress.Port}
               - name: {RealTunnel.Name}   # another agent has it
                 upstream: 1
               - name: second
                 upstream: {shared.BackendAddress}
                 host-header: app.internal
             """,
            TestContext.Current.CancellationToken);
        await using var agent = BuiltPrograms.StartAgent(["start", "--config", folder["tunnels.yml"], "--json", "--verbose"]);
        foreach (var name in new[] { "first", "second" })
        {
            await agent.WaitForLineAsync(line => Is(line, "ready", name), Limits.Start);
        }

        await agent.WaitForLineAsync(static line => Is(line, "rejected", RealTunnel.Name), Limits.Start);
        using var client = shared.CreateClient();
        foreach (var name in new[] { "first", "second" })
        {
            using var answer = await client.GetAsync(
                new Uri($"http://{name}.localhost:{shared.Entry.Public.Port}/bytes/10"), TestContext.Current.CancellationToken);
            Assert.Equal(200, (int)answer.StatusCode);
            await agent.WaitForLineAsync(line => Is(line, "request", name));
        }

        await Shell.InterruptAsync(agent);

        Assert.Equal(0, (await Shell.FinishAsync(agent)).ExitCode);
        Assert.All(["first", "second"], name => Assert.Contains(agent.Lines, line => Is(line, "stopped", name)));
    }

    [Fact]
    public async Task A_wrong_file_is_reported_line_by_line_and_nothing_starts()
    {
        using var folder = new TemporaryFolder();
        await File.WriteAllTextAsync(folder["tunnels.yml"], "sever: a\ntunnels:\n  - name: web\n", TestContext.Current.CancellationToken);
        await using var agent = BuiltPrograms.StartAgent(["start", "--config", folder["tunnels.yml"]]);

        var (exitCode, output) = await Shell.FinishAsync(agent);

        Assert.Equal(2, exitCode);
        Assert.Contains("tunnels.yml:1: 'sever' is not a key here, did you mean 'server'?", output, StringComparison.Ordinal);
        Assert.Contains("tunnels.yml:3: the tunnel lacks its upstream", output, StringComparison.Ordinal);
    }

    private static bool Is(string line, string name, string tunnel)
    {
        if (!line.StartsWith('{'))
        {
            return false;
        }

        using var json = JsonDocument.Parse(line);
        return json.RootElement.GetProperty("event").GetString() == name && json.RootElement.GetProperty("tunnel").GetString() == tunnel;
    }
}
