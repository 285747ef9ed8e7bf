using System.Diagnostics;
using System.Globalization;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;

namespace Tunnel2.Programs.Tests.Restarts;

/// <summary>
/// Many agents, in this process, that all lose a ProxyEntry which is a process of its own, and come back at once. A hundred here;
/// <c>load-tests/restarts/run.sh storm</c> has a thousand.
/// </summary>
[Collection(RealProcessesCollection.Name)]
public sealed class ReconnectStormTests
{
    private const long Megabyte = 1024 * 1024;

    private static readonly int _count = Environment.GetEnvironmentVariable("TUNNEL2_STORM_AGENTS") is { Length: > 0 } text
        ? int.Parse(text, CultureInfo.InvariantCulture)
        : 100;

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task All_agents_are_back_soon_and_none_that_is_back_is_harmed(bool isKilled)
    {
        var port = (await SharedBackend.GetAddressAsync()).Port;
        await using var entry = await EntryProcess.StartAsync();
        var agents = Enumerable.Range(0, _count)
            .Select(i => AgentFixture.Start(AgentFixture.Options(entry.Uplink.Port, port, Name(i))))
            .ToList();
        try
        {
            await AllReadyAsync(agents, 1, Limits.Work);
            if (isKilled)
            {
                entry.Runner.Kill();
            }
            else
            {
                entry.Runner.Terminate();
            }

            await entry.Runner.WaitForExitAsync();
            await entry.StartAgainAsync();
            var clock = Stopwatch.StartNew();
            await using var visitors = SteadyVisitors.Start(entry.Public, 50, static number => $"{Name(number % _count)}.localhost");

            await AllReadyAsync(agents, 2, TimeSpan.FromSeconds(30));

            var back = clock.Elapsed;
            await visitors.MoreAsync(_count / 10);
            var results = await visitors.StopAsync();
            var memory = PeakMemory.Read(entry.Runner);
            SteadyReport.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"{_count} agents back {back.TotalMilliseconds:0} ms after ProxyEntry was ready again "
                    + $"({(isKilled ? "killed" : "stopped")}); its peak memory {memory / Megabyte} MB"));
            SteadyReport.Write("requests in that time", results);

            // Requests wait for agents that are not back yet; the others serve. No agent comes twice.
            SteadyReport.AssertNoneFailed(results);
            Assert.All(agents, static agent => Assert.Equal(2, agent.Events.ReadyCount.Value));
            Assert.InRange(memory, 1, 300 * Megabyte);
        }
        finally
        {
            await Task.WhenAll(agents.Select(static agent => agent.DisposeAsync().AsTask()));
        }
    }

    private static string Name(int number) => string.Create(CultureInfo.InvariantCulture, $"agent-{number:0000}");

    private static Task AllReadyAsync(IEnumerable<AgentFixture> agents, int times, TimeSpan limit) =>
        Task.WhenAll(agents.Select(agent => agent.Events.ReadyCount.WaitForAsync(times, limit)));
}
