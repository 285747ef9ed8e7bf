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

        // The server was told by the visitor's own close frame, in order.
        await server.WaitForLineAsync(static line => line == "closed /echo 1001");
        Assert.Equal(0, await process.WaitForExitAsync());
    }

    [Fact]
    public async Task ProxyEntry_is_not_ready_but_alive_while_a_slow_download_finishes_and_nobody_else_comes_in()
    {
        await using var tunnel = await RealTunnel.StartAsync();
        await using var curl = ProcessRunner.Start(
            "bash",
            [
                "-c",
                "curl -sS -m 60 --limit-rate 400k $1 | sha256sum; echo curl ${PIPESTATUS[0]}",
                "bash",
                $"{tunnel.Url}/stream/300/10000/10",
            ]);
        await using var idle = await RawHttpClient.ConnectAsync(tunnel.Entry.Public);
        Assert.Equal(200, (await idle.ExchangeAsync("/hash/1", tunnel.Host)).Head.StatusCode);
        await using var busy = await RawHttpClient.ConnectAsync(tunnel.Entry.Public);
        await busy.SendRequestAsync("/delay/1500", tunnel.Host);
        var health = $"http://{tunnel.Entry.Admin}/health";
        Assert.Equal("ready", (await Shell.CurlAsync($"{health}/ready")).Output);

        tunnel.Entry.Runner.Terminate();

        await tunnel.Entry.Runner.WaitForLineAsync(static line => line.Contains("Draining", StringComparison.Ordinal));
        Assert.Equal("draining 503", (await Shell.CurlAsync("-w", "%{http_code}", $"{health}/ready")).Output.ReplaceLineEndings(" "));
        Assert.Equal("live 200", (await Shell.CurlAsync("-w", "%{http_code}", $"{health}/live")).Output.ReplaceLineEndings(" "));
        await idle.WaitForEndAsync();
        Assert.Equal(7, (await Shell.CurlAsync($"{tunnel.Url}/hash/1")).ExitCode);
        var head = await busy.ReadHeadAsync();
        Assert.Equal((200, "close"), (head.StatusCode, head["Connection"]));
        await busy.WaitForEndAsync();
        Assert.False(tunnel.Entry.Runner.HasExited);

        Assert.Equal("curl 0", await curl.WaitForLineAsync(static line => line.StartsWith("curl ", StringComparison.Ordinal), Limits.Work));
        Assert.Contains(PatternBytes.Sha256Hex(3_000_000), curl.Lines[0], StringComparison.Ordinal);
        Assert.Equal(0, await tunnel.Entry.Runner.WaitForExitAsync());
    }

    [Fact]
    public async Task For_the_delay_visitors_are_served_as_before_and_told_that_it_is_their_last_answer()
    {
        await using var backend = BuiltPrograms.StartBackend(["--listen", "127.0.0.1:0"]);
        var listening = await backend.WaitForLineAsync(
            static line => line.StartsWith("Listening on ", StringComparison.Ordinal), Limits.Start);
        var port = new Uri(listening["Listening on ".Length..]).Port;
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

        Assert.Equal(exitCode, await tunnel.Entry.Runner.WaitForExitAsync(TimeSpan.FromSeconds(3)));
        Assert.NotEqual(0, await curl.WaitForExitAsync());
    }

    [Fact]
    public async Task A_new_ProxyEntry_on_the_same_port_gets_the_agent_while_the_old_one_still_finishes()
    {
        await using var tunnel = await RealTunnel.StartAsync();
        await using var curl = ProcessRunner.Start("curl", ["-sSN", $"{tunnel.Url}/sse?count=60&interval=100"]);
        await curl.WaitForLineAsync(static line => line == "id: 1");
        tunnel.Entry.Runner.Terminate();
        await tunnel.Entry.Runner.WaitForLineAsync(static line => line.Contains("Draining", StringComparison.Ordinal));
        await WaitSignal.UntilAsync(
            () => FreePort.IsFree(tunnel.Entry.Public.Port) && FreePort.IsFree(tunnel.Entry.Uplink.Port), "the ports are free");

        await using var successor = BuiltPrograms.StartEntry(tunnel.Entry.ArgumentsBeside);
        await successor.WaitForLineAsync(static line => line.Contains("is public", StringComparison.Ordinal), Limits.Start);

        Assert.Equal(PatternBytes.Sha256Hex(1), (await Shell.CurlAsync("--fail", $"{tunnel.Url}/hash/1")).EnsureSuccess().Output);
        Assert.False(tunnel.Entry.Runner.HasExited);
        Assert.Equal(0, await curl.WaitForExitAsync());
        Assert.Contains("id: 59", curl.Lines);
        Assert.Equal(0, await tunnel.Entry.Runner.WaitForExitAsync());
        tunnel.Agent.Terminate();
        Assert.Equal(0, await tunnel.Agent.WaitForExitAsync());
    }
}
