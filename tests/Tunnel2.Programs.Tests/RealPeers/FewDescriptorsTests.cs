using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>An agent whose process may have few files open: it lives, says what it lacks, and continues.</summary>
public sealed class FewDescriptorsTests
{
    private const string Ready = "Forwarding ";

    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task Requests_are_served_in_turn_with_few_descriptors(string engine)
    {
        await using var tunnel = await RealTunnel.StartAsync(engine);
        await using var agent = ProcessRunner.Start(
            "prlimit",
            [
                "--nofile=130:130", "dotnet", BuiltPrograms.AgentPath, "http", $"{tunnel.BackendAddress.Port}", "--name", "few", "--server",
                $"{tunnel.Entry.Uplink}",
            ],
            new Dictionary<string, string?> { ["TUNNEL2_ENGINE"] = engine },
            Path.GetTempPath());
        await agent.WaitForLineAsync(static line => line.StartsWith(Ready, StringComparison.Ordinal), Limits.Start);

        // Each takes 100 ms: what the turn does not come to within 10 s is refused.
        var answers = await AskAsync(tunnel, "few", "/delay/100", 300);
        AssertServedOrRefused(answers, agent, tunnel);
        Assert.Contains("200 ", answers);
        await agent.WaitForLineAsync(static line => line.StartsWith("Connections to services: ", StringComparison.Ordinal), Limits.Work);

        Assert.All(await AskAsync(tunnel, "few", "/bytes/1", 20), static answer => Assert.Equal("200 ", answer));
        Assert.False(agent.HasExited);
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task Without_a_descriptor_left_requests_wait_or_fail_with_words_and_all_continues_when_there_are_some(string engine)
    {
        await using var tunnel = await RealTunnel.StartAsync(engine);

        // All that the agent needs has been loaded by then, also for a visitor that leaves: the runtime itself does not bear a shortage.
        await WaitSignal.UntilAsync(
            () => File.ReadAllText($"/proc/{tunnel.Agent.Id}/maps").Contains("/Tunnel2.Http2.dll", StringComparison.Ordinal),
            "what an abort needs is loaded");
        Assert.All(await AskAsync(tunnel, RealTunnel.Name, "/delay/100", 60), static answer => Assert.Equal("200 ", answer));
        var open = Directory.EnumerateFileSystemEntries($"/proc/{tunnel.Agent.Id}/fd").Count();

        // Six more, and those that the agent leaves to the runtime.
        await LimitAsync(tunnel.Agent, $"{open + 6 + OpenFiles.Reserve}:");

        // Requests wait for a connection that there is; those for which none becomes free within 10 s are refused.
        AssertAnswers(await AskAsync(tunnel, RealTunnel.Name, "/delay/100", 200), ["200 "], tunnel.Agent, tunnel);
        var answers = await AskAsync(tunnel, RealTunnel.Name, "/delay/12000", 200);
        AssertServedOrRefused(answers, tunnel.Agent, tunnel);
        Assert.Contains("503 backend-connection-limit", answers);
        await tunnel.Agent.WaitForLineAsync(
            static line => line.StartsWith("No file descriptor is left", StringComparison.Ordinal), Limits.Work);

        await LimitAsync(tunnel.Agent, $"{open + 500}:");
        AssertAnswers(await AskAsync(tunnel, RealTunnel.Name, "/delay/100", 60), ["200 "], tunnel.Agent, tunnel);
        Assert.False(tunnel.Agent.HasExited);
    }

    /// <summary>Each was served, or refused for want of a connection.</summary>
    private static void AssertServedOrRefused(string[] answers, ProcessRunner agent, RealTunnel tunnel) =>
        AssertAnswers(answers, ["200 ", "503 backend-connection-limit"], agent, tunnel);

    /// <summary>There are no other answers than these; otherwise the message has what both programs said.</summary>
    private static void AssertAnswers(string[] answers, string[] expected, ProcessRunner agent, RealTunnel tunnel)
    {
        var others = answers.Where(answer => !expected.Contains(answer)).ToArray();
        Assert.True(
            others.Length == 0,
            $"{others.Length} x {others.FirstOrDefault()}\n{string.Join('\n', agent.Lines.Concat(tunnel.Entry.Runner.Lines))}");
    }

    private static async Task LimitAsync(ProcessRunner process, string limit)
    {
        await using var prlimit = ProcessRunner.Start("prlimit", [$"--nofile={limit}", "--pid", $"{process.Id}"]);
        Assert.Equal(0, await prlimit.WaitForExitAsync());
    }

    /// <summary>As many requests at once, each with its status and the tunnel's error, if it is one.</summary>
    private static async Task<string[]> AskAsync(RealTunnel tunnel, string name, string path, int count)
    {
        using var client = tunnel.CreateClient();
        return await Task.WhenAll(Enumerable.Range(0, count).Select(async _ =>
        {
            using var answer = await client.GetAsync(new Uri($"http://{name}.localhost:{tunnel.Entry.Public.Port}{path}"));
            return $"{(int)answer.StatusCode} {(answer.Headers.TryGetValues("Tunnel2-Error", out var error) ? error.First() : "")}";
        }));
    }
}
