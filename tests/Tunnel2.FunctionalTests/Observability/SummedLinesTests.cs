using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Observability;

/// <summary>A service that fails a thousand times.</summary>
public sealed class SummedLinesTests
{
    [Fact]
    public async Task Neither_side_writes_a_line_for_each()
    {
        using var port = new RefusedPort();
        await TunnelFixture.RunAsync(port.Port, AssertSummedAsync);

        static async Task AssertSummedAsync(TunnelFixture tunnel)
        {
            await using var visitor = await tunnel.ConnectAsync();
            for (var i = 0; i < 100; i++)
            {
                Assert.Equal(502, (await visitor.ExchangeAsync("/", TunnelFixture.Host)).Head.StatusCode);
            }

            // On a slow machine the hundred may take more than one window.
            Assert.InRange(tunnel.Entry.Log.All.Count(static line => line.EventId == 2100), 5, 20);
            await tunnel.Entry.StopAsync();
            await tunnel.Entry.DisposeAsync();
            Assert.Contains(
                tunnel.Entry.Log.All,
                static line => line.EventId == 2290 && line.Text.Contains("backend-refused", StringComparison.Ordinal));

            // The agent reports a failure after its answer has left.
            await WaitSignal.UntilAsync(() => tunnel.Agent.Events.Failures.Count >= 100, "the agent has reported the last failure");
            Assert.Equal(100, tunnel.Agent.Events.Failures.Count);
            Assert.All(tunnel.Agent.Events.Failures, static failure => Assert.Equal(("backend", "connection refused"), failure));
        }
    }
}
