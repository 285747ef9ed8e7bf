using System.Text.Json;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Live;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Terminals;

/// <summary><c>tunnel2 top</c> on a real pseudo terminal, beside a real server.</summary>
public sealed class TopTests(SharedTunnels tunnels)
{
    private static Task<ShellResult> AskAsync(RealTunnel tunnel, string path) =>
        Shell.CurlAsync("-o", "/dev/null", $"{tunnel.Url}{path}");

    [Fact]
    public async Task At_80_by_24_sessions_are_sorted_filtered_and_looked_at()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "The screen is Linux's.");
        var tunnel = await tunnels.GetAsync();
        await using var terminal = PseudoTerminal.Start(
            80, 24, ["dotnet", BuiltPrograms.AgentPath, "top", "--host", tunnel.Entry.Admin.ToString()]);
        var seen = await terminal.SeeAsync(static screen => screen.Find("web ") > 0, "the session is seen", Limits.Start);
        Assert.Contains("session                   req/s▼", seen, StringComparison.Ordinal);
        Assert.Matches("^tunnel2 top  127.0.0.1:[0-9]+ +[0-9]+ of [0-9]+ sessions? online, window 1s", seen);
        Assert.All(seen.Split('\n'), static row => Assert.True(row.Length <= 80));

        terminal.Type("1");
        await terminal.SeeAsync("session▼");
        terminal.Type("/zzz");
        await terminal.SeeAsync("no session matches the filter");
        terminal.Type("\x7f\x7f\x7fweb\r");
        await terminal.SeeAsync("/web  Esc all");
        terminal.Type("\r");
        await terminal.SeeAsync("Esc goes back");
        (await AskAsync(tunnel, "/bytes/33")).EnsureSuccess();
        seen = await terminal.SeeAsync("/bytes/33", Limits.Work);
        Assert.Matches(@"(?m)^\d\d:\d\d:\d\d GET     200 +[0-9.]+ms  /bytes/33$", seen);
        terminal.Type("\x1b");
        await terminal.SeeAsync("tunnel2 top");
        terminal.Resize(120, 40);
        await terminal.SeeAsync(static screen => screen.Find("uplink") > 0, "agents are seen on a wide terminal");
        terminal.Type("q");
        await terminal.SeeAsync("ENDED 0", Limits.Work);
        Assert.True(terminal.Look(static screen => !screen.IsAlternate && screen.IsCursorVisible));
        Assert.Empty(terminal.Look(static screen => screen.Unknown.ToArray()));
    }

    [Fact]
    public async Task A_screen_that_the_server_pauses_says_so_shows_the_gap_and_continues_by_itself()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "The screen is Linux's.");
        await using var hub = await ShortHub.StartAsync();
        ShortHub.Publish(hub.Entry, "/before", 200);
        await using var terminal = PseudoTerminal.Start(
            80, 24, ["dotnet", BuiltPrograms.AgentPath, "top", "--host", hub.EndPoint.ToString()]);
        await terminal.SeeAsync(static screen => screen.Find("web ") > 0, "the session is seen", Limits.Start);
        terminal.Type("\r");
        await terminal.SeeAsync("/before", Limits.Work);
        await hub.PauseAsync();
        await terminal.SeeAsync("paused: the server is short of memory or processors", Limits.Work);
        await terminal.SeeAsync("1s             -       -       -", Limits.Work);
        await hub.PublishEachAsync("session.web.requests", "/missed/1", "/missed/2");
        await hub.ContinueAsync();

        // A frame may come in pieces, the upper rows first.
        await terminal.SeeAsync(
            static screen => screen.Find("/missed/2") >= 0 && screen.Find("-- gap: requests may be missing here --") >= 0,
            "what came is seen above the gap",
            Limits.Work);
        await terminal.SeeAsync("gaps: paused 1 time by the server", Limits.Work);
        ShortHub.Publish(hub.Entry, "/after", 200);
        var seen = await terminal.SeeAsync(
            static screen => screen.Find("/after") >= 0 && screen.Text.Split("/before").Length - 1 == 1,
            "the next request is seen, and the first one once",
            Limits.Work);
        Assert.DoesNotContain("paused:", seen, StringComparison.Ordinal);
        Assert.All(seen.Split('\n'), static row => Assert.True(row.Length <= 80));
    }

    [Fact]
    public async Task Once_with_json_is_one_object_and_0()
    {
        var tunnel = await tunnels.GetAsync();
        (await AskAsync(tunnel, "/bytes/5")).EnsureSuccess();
        await using var top = BuiltPrograms.StartAgent(["top", "--once", "--json", "--host", tunnel.Entry.Admin.ToString()]);
        var result = (await Shell.FinishAsync(top)).EnsureSuccess();
        var root = JsonDocument.Parse(result.Output).RootElement;
        var web = root.GetProperty("sessions").EnumerateArray().Single(
            static one => one.GetProperty("session").GetString() == RealTunnel.Name);
        Assert.True(web.GetProperty("online").GetBoolean());

        // An agent that the machine holds up may have added one.
        Assert.InRange(web.GetProperty("uplinks").GetInt32(), 1, 4);
        Assert.True(root.GetProperty("node").GetProperty("requests").GetInt64() >= 0);
    }

    [Fact]
    public async Task Once_with_json_and_no_server_is_a_line_of_the_error_output_and_4()
    {
        using var refused = new RefusedPort();
        await using var top = BuiltPrograms.StartAgent(["top", "--once", "--json", "--host", $"127.0.0.1:{refused.Port}"]);
        var result = await Shell.FinishAsync(top);
        Assert.Equal(4, result.ExitCode);
        Assert.Matches("^tunnel2: 127.0.0.1:[0-9]+: Connection refused", result.Output);
    }
}
