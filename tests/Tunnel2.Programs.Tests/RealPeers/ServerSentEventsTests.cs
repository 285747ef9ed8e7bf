using System.Globalization;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>Events of a stream arrive when they are written, not when there are enough of them.</summary>
[Collection(RealProcessesCollection.Name)]
public sealed class ServerSentEventsTests(SharedTunnels tunnels)
{
    private const int Interval = 20;

    // load-tests/real-input listens for a minute.
    private static readonly int _seconds =
        int.Parse(Environment.GetEnvironmentVariable("TUNNEL2_SSE_SECONDS") ?? "5", CultureInfo.InvariantCulture);

    private static readonly int _count = _seconds * 1000 / Interval;

    private static readonly Lock _lock = new();

    private static Task<Dictionary<string, (List<double> Through, List<double> Without)>>? _heard;

    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task Events_arrive_within_50_ms_of_being_written(string engine)
    {
        var (through, without) = (await HearAsync())[engine];
        Assert.Equal(_count, through.Count);
        TestContext.Current.TestOutputHelper?.WriteLine(
            $"{engine}, {_count} events, delay in ms: through the tunnel {Describe(through)}; without it {Describe(without)}");
        // One stall of the machine delays the five events that fall into it.
        Assert.InRange(Percentile(through, 95), 0, 50 + Percentile(without, 95));
        Assert.InRange(through[^1], 0, 250 + without[^1]);
    }

    /// <summary>
    /// The delays of both engines: the first test of the two listens to all at the same time, which is little work for the machine.
    /// </summary>
    private Task<Dictionary<string, (List<double> Through, List<double> Without)>> HearAsync()
    {
        lock (_lock)
        {
            return _heard ??= HearAllAsync();
        }
    }

    private async Task<Dictionary<string, (List<double> Through, List<double> Without)>> HearAllAsync()
    {
        using var direct = new HttpClient { Timeout = Limits.Work };
        var query = $"sse?count={_count}&interval={Interval}";
        var epoll = await tunnels.GetAsync("epoll");
        var portable = await tunnels.GetAsync("portable");
        using var byEpoll = epoll.CreateClient();
        using var byPortable = portable.CreateClient();

        // What the machine itself adds is seen in the one that does not go through the tunnel.
        var all = await Task.WhenAll(
            ListenAsync(byEpoll, $"{epoll.Url}/{query}"), ListenAsync(byPortable, $"{portable.Url}/{query}"),
            ListenAsync(direct, $"{epoll.BackendAddress}{query}"));
        return new() { ["epoll"] = (all[0], all[2]), ["portable"] = (all[1], all[2]) };
    }

    /// <summary>Reads all events and returns their delays in milliseconds, sorted.</summary>
    private static async Task<List<double>> ListenAsync(HttpClient client, string url)
    {
        using var reader = new StreamReader(await client.GetStreamAsync(new Uri(url)));
        var delays = new List<double>();
        while (await reader.ReadLineAsync(TestContext.Current.CancellationToken) is { } line)
        {
            // The data of an event is when it was written: whole milliseconds of the clock that is read here too.
            if (line.StartsWith("data: ", StringComparison.Ordinal))
            {
                var now = (TimeProvider.System.GetUtcNow() - DateTimeOffset.UnixEpoch).TotalMilliseconds;
                delays.Add(now - long.Parse(line.AsSpan("data: ".Length), CultureInfo.InvariantCulture));
            }
        }

        delays.Sort();
        return delays;
    }

    private static double Percentile(List<double> sorted, int percent) => sorted[sorted.Count * percent / 100];

    private static string Describe(List<double> delays) => string.Create(
        CultureInfo.InvariantCulture, $"p50 {Percentile(delays, 50):0.0}, p95 {Percentile(delays, 95):0.0}, max {delays[^1]:0.0}");
}
