using System.Text.RegularExpressions;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks;

public sealed partial class UplinkBalanceTests
{
    private const int Streams = 40;
    private const int Length = 3_000_000;

    private static readonly TunnelSetup _four = new() { Agent = static options => options with { Uplinks = UplinkPolicy.Fixed(4) } };

    [Fact]
    public Task Forty_downloads_are_spread_evenly_over_four_uplinks_and_metrics_show_it() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await UntilFourAsync(tunnel);
            await Task.WhenAll(Enumerable.Range(0, Streams).Select(async _ =>
            {
                var (head, body) = await tunnel.ExchangeAsync($"/bytes/{Length}");
                Assert.Equal((200, Length), (head.StatusCode, body.Bytes.Length));
            }));
            var bytes = tunnel.Entry.Session.Tunnel.Uplinks.OrderBy(static uplink => uplink.Slot)
                .Select(static uplink => uplink.Statistics.BytesReceived)
                .ToArray();
            Assert.InRange(CoefficientOfVariation(bytes), 0, 0.2);

            // What an operator sees says the same, slot by slot.
            await using var admin = await RawHttpClient.ConnectAsync(tunnel.Entry.Admin);
            var metrics = (await admin.ExchangeAsync("/metrics", "localhost")).Body.Text();
            var shown = Received()
                .Matches(metrics)
                .OrderBy(static match => int.Parse(match.Groups[1].Value))
                .Select(static match => long.Parse(match.Groups[2].Value))
                .ToArray();
            Assert.Equal(4, shown.Length);
            Assert.InRange(CoefficientOfVariation(shown), 0, 0.2);
            Assert.True(shown.Sum() >= (long)Streams * Length);
            Assert.Contains("tunnel2_entry_uplinks_active", metrics, StringComparison.Ordinal);
            Assert.Contains("tunnel2_entry_uplink_outstanding", metrics, StringComparison.Ordinal);
        },
        _four);

    [Fact]
    public Task Forty_uploads_are_spread_evenly_over_four_uplinks() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await UntilFourAsync(tunnel);
            var client = tunnel.CreateClient();

            // Long enough that all of them run at once: balance is a matter of bulk.
            var upload = new byte[4 * Length];
            await Task.WhenAll(Enumerable.Range(0, Streams).Select(async _ =>
            {
                using var response = await client.PostAsync("/sink", new ByteArrayContent(upload));
                Assert.True(response.IsSuccessStatusCode);
            }));
            Assert.InRange(
                CoefficientOfVariation([.. tunnel.Entry.Session.Tunnel.Uplinks.Select(static uplink => uplink.Statistics.BytesSent)]),
                0,
                0.2);
        },
        _four);

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
                var sent = tunnel.Link.Connections[0].BytesToTarget.Value;
                mayAnswer.Set();

                // The agent's answer goes into a path that takes nothing: asked for a sign of life, the entry cannot give one.
                await WaitSignal.UntilAsync(() => Pass(10) && session.Uplinks.Count == 2, "a second uplink", TimeSpan.FromSeconds(20));
                Assert.Equal(sent, tunnel.Link.Connections[0].BytesToTarget.Value);
                Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
                tunnel.Link.Connections[0].Resume();
                Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);

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
                var stopping = tunnel.Agent.StopAsync();
                await WaitSignal.UntilAsync(() => Pass(100) && stopping.IsCompleted, "the agent has stopped");
            },
            new TunnelSetup { CanBeCut = true, AgentTime = time });

        bool Pass(int milliseconds)
        {
            time.Advance(TimeSpan.FromMilliseconds(milliseconds));
            return true;
        }
    }

    private static Task UntilFourAsync(TunnelFixture tunnel) =>
        WaitSignal.UntilAsync(() => tunnel.Entry.Session.Tunnel.Uplinks.Count == 4, "four uplinks stand");

    private static double CoefficientOfVariation(long[] values)
    {
        var mean = values.Average();
        return Math.Sqrt(values.Average(value => (value - mean) * (value - mean))) / mean;
    }

    [GeneratedRegex("""^tunnel2_entry_uplink_received_bytes_total\{slot="(\d+)"[^}]*\} (\d+)$""", RegexOptions.Multiline)]
    private static partial Regex Received();
}
