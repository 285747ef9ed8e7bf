using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks;

public sealed class UplinkBalanceTests
{
    [Fact]
    public async Task An_automatic_session_grows_when_its_uplink_stalls_and_shrinks_again_when_it_has_been_calm()
    {
        var time = new ManualTimeProvider();
        var mayAnswer = new WaitSignal("the backend may answer");
        var asked = new AsyncCounter("requests at the backend");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                while ((await connection.ReadHeadAsync()).StartLine is { } line)
                {
                    asked.Increment();
                    if (line.Contains("/wait", StringComparison.Ordinal))
                    {
                        await mayAnswer.WaitAsync();
                    }

                    await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }
            },
            async tunnel =>
            {
                var session = tunnel.Entry.Session.Tunnel;
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.SendRequestAsync("/wait", TunnelFixture.Host);
                await asked.WaitForAsync(1);
                tunnel.Link.Connections[0].Pause();
                time.Advance(TimeSpan.FromSeconds(1));
                var answer = visitor.ReadHeadAsync();
                mayAnswer.Set();

                // The agent's answer goes into a path that takes nothing: asked for a sign of life, the entry cannot give one.
                await WaitSignal.UntilAsync(
                    () => PassTenMilliseconds() && session.Uplinks.Count == 2, "a second uplink", TimeSpan.FromSeconds(20));
                Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
                Assert.False(answer.IsCompleted);
                tunnel.Link.Connections[0].Resume();
                Assert.Equal(200, (await answer).StatusCode);

                // Little moves for a while: one of the two is not needed, and goes without harming anything.
                for (var step = 0; session.Uplinks.Count == 2; step++)
                {
                    Assert.True(step < 2_000, "The session never shrank.");
                    time.Advance(TimeSpan.FromMilliseconds(500));
                    Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
                }

                Assert.Single(session.Uplinks);
                Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
                Assert.Equal(0, tunnel.Agent.Events.EndCount.Value);
            },
            new TunnelSetup { CanBeCut = true, AgentTime = time });

        bool PassTenMilliseconds()
        {
            time.Advance(TimeSpan.FromMilliseconds(10));
            return true;
        }
    }
}
