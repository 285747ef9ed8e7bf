using System.Text.RegularExpressions;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.Budgets.Tests.Tunnel;

/// <summary>
/// How evenly bulk is spread over uplinks. It is measured: what else the machine does moves bytes from one uplink to another.
/// </summary>
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

    private static Task UntilFourAsync(TunnelFixture tunnel) =>
        tunnel.Entry.WaitForUplinksAsync(4);

    private static double CoefficientOfVariation(long[] values)
    {
        var mean = values.Average();
        return Math.Sqrt(values.Average(value => (value - mean) * (value - mean))) / mean;
    }

    [GeneratedRegex("""^tunnel2_entry_uplink_received_bytes_total\{slot="(\d+)"[^}]*\} (\d+)$""", RegexOptions.Multiline)]
    private static partial Regex Received();
}
