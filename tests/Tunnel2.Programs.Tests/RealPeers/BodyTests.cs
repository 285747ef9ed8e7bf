using System.Diagnostics;
using System.Globalization;
using System.Text.Json;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>Long bodies by curl: every byte arrives, and neither ProxyEntry nor agent keeps them.</summary>
[Collection(RealProcessesCollection.Name)]
public sealed class BodyTests
{
    private const int MostMegabytes = 150;

    // load-tests/real-input sends gigabytes; here is what fits beside other tests.
    private static readonly long _megabytes =
        long.Parse(Environment.GetEnvironmentVariable("TUNNEL2_BODY_MEGABYTES") ?? "200", CultureInfo.InvariantCulture);

    private static readonly long _length = _megabytes * 1_000_000;

    // 5 MB/s is slow for the slowest build machine.
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20 + (_megabytes / 5));

    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task A_long_body_arrives_unchanged_in_both_directions_and_in_little_memory(string engine)
    {
        await using var tunnel = await RealTunnel.StartAsync(engine);
        var expected = PatternBytes.Sha256Hex(_length, TestContext.Current.CancellationToken);

        var clock = Stopwatch.StartNew();
        var down = await Shell.RunBashAsync(_limit, "curl -sS --fail $1 | sha256sum", $"{tunnel.Url}/bytes/{_length}");
        Report("down, with sha256sum", clock.Elapsed);
        Assert.StartsWith(expected, down.EnsureSuccess().Output, StringComparison.Ordinal);

        clock.Restart();
        // Straight from the backend into the tunnel: a chunked upload whose length curl does not know.
        var up = await Shell.RunBashAsync(
            _limit, "curl -sS --fail $1 | curl -sS --fail -T - $2", $"{tunnel.BackendAddress}bytes/{_length}", $"{tunnel.Url}/sink?hash=1");
        Report("up, hashed by the backend", clock.Elapsed);
        var answer = JsonDocument.Parse(up.EnsureSuccess().Output).RootElement;
        Assert.Equal(_length, answer.GetProperty("bytes").GetInt64());
        Assert.Equal(expected, answer.GetProperty("sha256").GetString());

        PeakMemory.AssertBelow(tunnel, MostMegabytes);
    }

    private static void Report(string what, TimeSpan elapsed) => TestContext.Current.TestOutputHelper?.WriteLine(
        string.Create(CultureInfo.InvariantCulture, $"{_megabytes} MB {what}: {_megabytes / elapsed.TotalSeconds:0} MB/s"));
}
