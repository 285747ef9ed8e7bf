using System.Diagnostics;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>How soon processes that were killed are back.</summary>
[Collection(RealProcessesCollection.Name)]
public sealed class OutageTests
{
    [Theory]
    [InlineData("epoll", "/bytes/100000000000")]
    [InlineData("portable", "/bytes/100000000000")]
    [InlineData("epoll", "/stream/100000/1000/2")]
    public async Task A_download_whose_agent_is_killed_ends_with_an_error_and_the_next_agent_serves_the_name(string engine, string path)
    {
        var starting = Stopwatch.StartNew();
        await using var tunnel = await RealTunnel.StartWithAsync(["--Tunnel2:Timeouts:Park=100ms"], engine);

        // What processes cost on this machine now: the programs as a whole started in that time.
        var start = starting.Elapsed;
        using var folder = new TemporaryFolder();
        // The status comes with the head: the answer has begun by then.
        await using var curl = ProcessRunner.Start(
            "bash",
            [
                "-c",
                "curl -sS -N -m 30 $1 | { head -c 5000 | wc -c; cat >/dev/null; }; echo curl ${PIPESTATUS[0]}",
                "bash",
                tunnel.Url + path,
            ]);
        await curl.WaitForLineAsync(static line => line.Trim() == "5000");

        tunnel.Agent.Kill();
        var clock = Stopwatch.StartNew();

        var end = await curl.WaitForLineAsync(static line => line.StartsWith("curl ", StringComparison.Ordinal));
        Assert.True(end is "curl 18" or "curl 56", $"Expected a broken transfer, got '{end}'.");
        Assert.InRange(clock.Elapsed, TimeSpan.Zero, TimeSpan.FromSeconds(2) + start);

        var offline = await Shell.CurlAsync("-i", $"{tunnel.Url}/hash/1");
        Assert.StartsWith("HTTP/1.1 503 ", offline.Output, StringComparison.Ordinal);
        Assert.Contains("Retry-After: ", offline.Output, StringComparison.OrdinalIgnoreCase);

        clock.Restart();
        await tunnel.StartAgentAgainAsync();
        var again = await Shell.CurlAsync("--fail", $"{tunnel.Url}/hash/1");
        Assert.Equal(PatternBytes.Sha256Hex(1), again.EnsureSuccess().Output);
        Assert.InRange(clock.Elapsed, TimeSpan.Zero, TimeSpan.FromSeconds(2) + start);
    }

    [Fact]
    public async Task An_agent_is_back_under_the_same_address_soon_after_ProxyEntry_was_killed_and_started_again()
    {
        await using var tunnel = await RealTunnel.StartAsync();
        var firstLine = tunnel.Agent.Lines.Single(static line => line.StartsWith("Forwarding ", StringComparison.Ordinal));
        tunnel.Entry.Runner.Kill();
        await tunnel.Agent.WaitForLineAsync(static line => line.StartsWith("Disconnected ", StringComparison.Ordinal));
        // How long ProxyEntry is away is what this test is about.
        await Shell.RunAsync("sleep", "2");

        var starting = Stopwatch.StartNew();
        await tunnel.Entry.StartAgainAsync();

        // What a process costs on this machine now.
        var start = starting.Elapsed;
        var clock = Stopwatch.StartNew();

        // Visitors may ask in that time: they are asked to come again.
        var early = await Shell.CurlAsync("-o", "/dev/null", "-w", "%{http_code}", $"{tunnel.Url}/hash/1");
        Assert.Contains(early.EnsureSuccess().Output, new[] { "200", "503" });
        await tunnel.Entry.Runner.WaitForLineAsync(static line => line.Contains("is public", StringComparison.Ordinal));
        var back = await Shell.CurlAsync("--fail", $"{tunnel.Url}/hash/1");
        Assert.Equal(PatternBytes.Sha256Hex(1), back.EnsureSuccess().Output);
        Assert.InRange(clock.Elapsed, TimeSpan.Zero, TimeSpan.FromSeconds(4) + start);
        TestContext.Current.TestOutputHelper?.WriteLine($"back after {clock.ElapsedMilliseconds} ms");
        var lines = tunnel.Agent.Lines.Where(static line => line.StartsWith("Forwarding ", StringComparison.Ordinal)).ToList();
        Assert.All(lines, line => Assert.Equal(firstLine, line));
    }
}
