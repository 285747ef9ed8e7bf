using System.Diagnostics;
using System.Globalization;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Restarts;

/// <summary>What happens between SIGTERM and the end, on both sides.</summary>
public sealed class DrainTests
{
    [Theory]
    [InlineData("entry", "epoll")]
    [InlineData("entry", "portable")]
    [InlineData("agent", "epoll")]
    [InlineData("agent", "portable")]
    public async Task A_WebSocket_is_closed_with_1001_between_two_frames(string stopped, string engine)
    {
        await using var server = NodeScripts.Start("ws-server.mjs");
        const string Listening = "listening ";
        var listening = await server.WaitForLineAsync(static line => line.StartsWith(Listening, StringComparison.Ordinal), Limits.Start);
        var port = int.Parse(listening[Listening.Length..], CultureInfo.InvariantCulture);
        await using var entry = await EntryProcess.StartAsync($"--Tunnel2:Engine={engine}");
        await using var agent = await RealTunnel.StartAgentAsync(entry, port, engine);
        await using var client = NodeScripts.Start("ws-goodbye.mjs", $"ws://{RealTunnel.Name}.localhost:{entry.Public.Port}");
        await client.WaitForLineAsync(static line => line == "open", Limits.Start);

        var process = stopped == "entry" ? entry.Runner : agent;
        process.Terminate();

        await client.WaitForLineAsync(static line => line.StartsWith("closed 1001 ", StringComparison.Ordinal));
        Assert.DoesNotContain(client.Lines, static line => line.StartsWith("error", StringComparison.Ordinal));

        // The server learned it by the visitor's own close frame, in order.
        await server.WaitForLineAsync(static line => line == "closed /echo 1001");
        Assert.Equal(0, await process.WaitForExitAsync());
    }

    [Fact]
    public async Task ProxyEntry_is_not_ready_but_alive_while_a_slow_download_finishes_and_no_other_comes_in()
    {
        await using var tunnel = await RealTunnel.StartAsync();
        await using var download = await HeldAnswer.BeginAsync(tunnel);
        await using var idle = await RawHttpClient.ConnectAsync(tunnel.Entry.Public);
        Assert.Equal(200, (await idle.ExchangeAsync("/hash/1", tunnel.Host)).Head.StatusCode);
        await using var busy = await RawHttpClient.ConnectAsync(tunnel.Entry.Public);
        await busy.WriteAsync($"POST /sink HTTP/1.1\r\nHost: {tunnel.Host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
        Assert.Equal(100, (await busy.ReadHeadAsync()).StatusCode);
        var health = $"http://{tunnel.Entry.Admin}/health";
        Assert.Equal("ready", (await Shell.CurlAsync($"{health}/ready")).Output);

        tunnel.Entry.Runner.Terminate();

        await tunnel.Entry.Runner.WaitForLineAsync(static line => line.Contains("Draining", StringComparison.Ordinal));
        Assert.Equal("draining 503", (await Shell.CurlAsync("-w", "%{http_code}", $"{health}/ready")).Output.ReplaceLineEndings(" "));
        Assert.Equal("live 200", (await Shell.CurlAsync("-w", "%{http_code}", $"{health}/live")).Output.ReplaceLineEndings(" "));
        await idle.WaitForEndAsync();
        Assert.Equal(7, (await Shell.CurlAsync($"{tunnel.Url}/hash/1")).ExitCode);
        await busy.WriteAsync("hello");
        var head = await busy.ReadHeadAsync();
        Assert.Equal((200, "close"), (head.StatusCode, head["Connection"]));
        await busy.WaitForEndAsync();
        Assert.False(tunnel.Entry.Runner.HasExited);

        await download.EndAsync();
        Assert.Equal(0, await tunnel.Entry.Runner.WaitForExitAsync());
    }

    [Fact]
    public async Task For_the_delay_visitors_are_served_as_before_and_read_that_it_is_their_last_answer()
    {
        var port = (await SharedBackend.GetAddressAsync()).Port;
        await using var entry = await EntryProcess.StartAsync("--Tunnel2:Timeouts:DrainDelay=4s");
        await using var agent = await RealTunnel.StartAgentAsync(entry, port);
        var clock = Stopwatch.StartNew();

        entry.Runner.Terminate();

        await entry.Runner.WaitForLineAsync(static line => line.Contains("Draining", StringComparison.Ordinal));
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Public);
        var (head, _) = await visitor.ExchangeAsync("/hash/1", $"{RealTunnel.Name}.localhost");
        Assert.Equal((200, "close"), (head.StatusCode, head["Connection"]));
        Assert.Equal(0, await entry.Runner.WaitForExitAsync());

        // The delay, and not the half minute after it that requests would have to finish: there are none.
        Assert.InRange(clock.Elapsed.TotalSeconds, 4, 4 + 25);
    }

    [Fact]
    public async Task What_is_not_finished_within_the_grace_is_cut_and_never_looks_whole()
    {
        await using var tunnel = await RealTunnel.StartWithAsync(["--Tunnel2:Timeouts:Drain=1s"]);
        await using var curl = ProcessRunner.Start("curl", ["-sSN", $"{tunnel.Url}/sse?count=0&interval=50"]);
        await curl.WaitForLineAsync(static line => line == "id: 1");

        tunnel.Entry.Runner.Terminate();

        Assert.Equal(0, await tunnel.Entry.Runner.WaitForExitAsync());
        Assert.NotEqual(0, await curl.WaitForExitAsync());
        Assert.Contains(tunnel.Entry.Runner.Lines, static line => line.Contains("The time to finish is over", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(false, 143)]
    [InlineData(true, 130)]
    public async Task A_second_signal_ends_ProxyEntry_at_once(bool interrupt, int exitCode)
    {
        await using var tunnel = await RealTunnel.StartAsync();
        await using var curl = ProcessRunner.Start("curl", ["-sSN", $"{tunnel.Url}/sse?count=0&interval=50"]);
        await curl.WaitForLineAsync(static line => line == "id: 1");
        tunnel.Entry.Runner.Terminate();
        await tunnel.Entry.Runner.WaitForLineAsync(static line => line.Contains("Draining", StringComparison.Ordinal));

        if (interrupt)
        {
            await Shell.InterruptAsync(tunnel.Entry.Runner);
        }
        else
        {
            tunnel.Entry.Runner.Terminate();
        }

        // The stream has no end: only the second signal ends it before the time to finish is over.
        Assert.Equal(exitCode, await tunnel.Entry.Runner.WaitForExitAsync());
        Assert.NotEqual(0, await curl.WaitForExitAsync());
    }

    [Fact]
    public async Task A_new_ProxyEntry_on_the_same_port_gets_the_agent_while_the_old_one_still_finishes()
    {
        await using var tunnel = await RealTunnel.StartAsync();
        await using var held = await HeldAnswer.BeginAsync(tunnel);
        tunnel.Entry.Runner.Terminate();
        await tunnel.Entry.Runner.WaitForLineAsync(static line => line.Contains("Draining", StringComparison.Ordinal));
        await WaitSignal.UntilAsync(
            () => FreePort.IsFree(tunnel.Entry.Public.Port) && FreePort.IsFree(tunnel.Entry.Uplink.Port), "the ports are free");

        await using var successor = BuiltPrograms.StartEntry(tunnel.Entry.ArgumentsBeside);
        await successor.WaitForLineAsync(static line => line.Contains("is public", StringComparison.Ordinal), Limits.Start);

        Assert.Equal(PatternBytes.Sha256Hex(1), (await Shell.CurlAsync("--fail", $"{tunnel.Url}/hash/1")).EnsureSuccess().Output);
        Assert.False(tunnel.Entry.Runner.HasExited);
        await held.EndAsync();
        Assert.Equal(0, await tunnel.Entry.Runner.WaitForExitAsync());
        tunnel.Agent.Terminate();
        Assert.Equal(0, await tunnel.Agent.WaitForExitAsync());
    }
}
