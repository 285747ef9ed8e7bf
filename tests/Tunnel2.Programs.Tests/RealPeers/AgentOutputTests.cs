using System.Diagnostics;
using System.Text.Json;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>What the agent prints about requests, and what visitors get when its backend is away.</summary>
public sealed class AgentOutputTests
{
    [Fact]
    public async Task Verbose_prints_a_line_for_each_request()
    {
        await using var tunnel = await RealTunnel.StartAsync("auto", "--verbose");

        await Shell.CurlAsync(
            "-o", "/dev/null", $"{tunnel.Url}/bytes/5000?token=secret", "-o", "/dev/null", $"{tunnel.Url}/status/404", "-d", "12345");

        var first = await tunnel.Agent.WaitForLineAsync(static line => line.Contains("/bytes/5000", StringComparison.Ordinal));
        Assert.Matches(@"^\d\d:\d\d:\d\d\.\d{3} POST /bytes/5000 200 [0-9.]+ ms, 5 B in, 5000 B out$", first);
        await tunnel.Agent.WaitForLineAsync(static line => line.Contains(" POST /status/404 404 ", StringComparison.Ordinal));
        Assert.DoesNotContain(tunnel.Agent.Lines, static line => line.Contains("secret", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Every_line_of_json_is_an_object_with_its_event()
    {
        await using var tunnel = await RealTunnel.StartAsync("auto", "--json", "--verbose");
        await Shell.CurlAsync("-o", "/dev/null", $"{tunnel.Url}/bytes/5000");
        await tunnel.Agent.WaitForLineAsync(static line => line.Contains("\"request\"", StringComparison.Ordinal));
        tunnel.Entry.Runner.Kill();
        await tunnel.Agent.WaitForLineAsync(static line => line.Contains("\"unreachable\"", StringComparison.Ordinal));

        tunnel.Agent.Terminate();
        Assert.Equal(0, await tunnel.Agent.WaitForExitAsync());

        var events = tunnel.Agent.Lines.Select(static line => JsonDocument.Parse(line).RootElement).ToList();
        Assert.All(events, static line => Assert.True(line.TryGetProperty("time", out _)));
        var names = events.Select(static line => line.GetProperty("event").GetString()).Distinct().ToList();
        Assert.Equal(["connecting", "uplink_way", "ready", "request", "lost", "reconnecting", "unreachable", "stopped"], names);
        var ready = events.Single(static line => line.GetProperty("event").GetString() == "ready");
        Assert.Equal(tunnel.Url, ready.GetProperty("urls")[0].GetString());
        var request = events.Single(static line => line.GetProperty("event").GetString() == "request");
        Assert.Equal(200, request.GetProperty("status").GetInt32());
        Assert.Equal("/bytes/5000", request.GetProperty("path").GetString());
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task A_backend_that_refuses_is_reported_to_the_visitor_within_a_second_and_forgotten_when_it_is_back(string engine)
    {
        await using var entry = await EntryProcess.StartAsync($"--Tunnel2:Engine={engine}");
        var port = FreePort.Next();
        await using var agent = await RealTunnel.StartAgentAsync(entry, port, engine, "--verbose");
        var url = $"http://{RealTunnel.Name}.localhost:{entry.Public.Port}/";
        ShellResult page = null!;
        await Promptness.AssertWithinAsync(TimeSpan.FromSeconds(1), async _ =>
        {
            var start = Stopwatch.GetTimestamp();
            page = await Shell.CurlAsync("-i", "-H", "Accept: text/html", url);
            return start;
        });
        Assert.StartsWith("HTTP/1.1 502 ", page.EnsureSuccess().Output, StringComparison.Ordinal);
        Assert.Contains("Tunnel2-Error: backend-refused", page.Output, StringComparison.OrdinalIgnoreCase);
        Assert.Contains("<li class=\"bad\" aria-current=\"step\">Service</li>", page.Output, StringComparison.Ordinal);
        var problem = await Shell.CurlAsync(url);
        Assert.Equal("backend", JsonDocument.Parse(problem.Output).RootElement.GetProperty("leg").GetString());
        await agent.WaitForLineAsync(static line => line.Contains("GET / ", StringComparison.Ordinal));

        await using var backend = BuiltPrograms.StartBackend(["--listen", $"127.0.0.1:{port}"]);
        await backend.WaitForLineAsync(static line => line.StartsWith("Listening", StringComparison.Ordinal), Limits.Start);
        (await Shell.CurlAsync("--fail", url)).EnsureSuccess();
    }

    [Fact]
    public async Task The_log_names_the_host_that_has_no_agent()
    {
        // A young ProxyEntry waits for agents to come back, so that every name counts as known.
        await using var entry = await EntryProcess.StartAsync("--Tunnel2:Timeouts:Park=100ms");

        await Shell.CurlAsync($"http://nobody-here.localhost:{entry.Public.Port}/");

        var line = await entry.Runner.WaitForLineAsync(static line => line.Contains("agent-offline", StringComparison.Ordinal));
        Assert.Contains(" for nobody-here ", line, StringComparison.Ordinal);
    }
}
