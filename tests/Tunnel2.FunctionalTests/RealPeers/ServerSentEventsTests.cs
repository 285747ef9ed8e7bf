using System.Globalization;
using Tunnel2.FunctionalTests.Processes;

namespace Tunnel2.FunctionalTests.RealPeers;

/// <summary>Events of a stream arrive when they are written, not when there are enough of them.</summary>
[Collection(RealProcessesCollection.Name)]
public sealed class ServerSentEventsTests(SharedTunnels tunnels)
{
    private const int Interval = 20;

    // load-tests/real-input listens for a minute.
    private static readonly int _seconds =
        int.Parse(Environment.GetEnvironmentVariable("TUNNEL2_SSE_SECONDS") ?? "5", CultureInfo.InvariantCulture);

    [Theory]
    [InlineData("event-loop")]
    [InlineData("portable")]
    public async Task Events_arrive_within_50_ms_of_being_written(string engine)
    {
        var tunnel = await tunnels.GetAsync(engine);
        var count = _seconds * 1000 / Interval;
        using var client = tunnel.CreateClient();
        using var reader = new StreamReader(
            await client.GetStreamAsync(new Uri($"{tunnel.Url}/sse?count={count}&interval={Interval}")));

        var delays = new List<double>(count);
        while (await reader.ReadLineAsync(TestContext.Current.CancellationToken) is { } line)
        {
            // The data of an event is when it was written: whole milliseconds of the clock that is read here too.
            if (line.StartsWith("data: ", StringComparison.Ordinal))
            {
                var now = (TimeProvider.System.GetUtcNow() - DateTimeOffset.UnixEpoch).TotalMilliseconds;
                delays.Add(now - long.Parse(line.AsSpan("data: ".Length), CultureInfo.InvariantCulture));
            }
        }

        Assert.Equal(count, delays.Count);
        delays.Sort();
        var p99 = delays[count * 99 / 100];
        TestContext.Current.TestOutputHelper?.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{engine}: {count} events, delay p50 {delays[count / 2]:0.0} ms, p99 {p99:0.0} ms, max {delays[^1]:0.0} ms (written in whole ms)"));
        // Other tests have the processors too: the strict form, p99 on an idle machine, is load-tests/real-input's.
        Assert.InRange(delays[count * 9 / 10], 0, 50);
        Assert.InRange(delays[^1], 0, 2000);
    }
}
