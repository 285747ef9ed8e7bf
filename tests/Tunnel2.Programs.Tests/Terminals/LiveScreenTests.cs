using System.Net.Sockets;
using System.Text;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Terminals;

/// <summary><c>tunnel2 http</c> on a real pseudo terminal, as a person sees it.</summary>
public sealed class LiveScreenTests(SharedTunnels tunnels)
{
    private static PseudoTerminal Start(
        RealTunnel tunnel, string name, string[]? flags = null, string? term = null, bool hasColors = true, int columns = 80, int rows = 24)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "The screen is Linux's.");
        return PseudoTerminal.Start(
            columns, rows,
            [
                "dotnet", BuiltPrograms.AgentPath, "http", $"{tunnel.BackendAddress.Port}", "--name", name, "--server",
                tunnel.Entry.Uplink.ToString(), .. flags ?? [],
            ],
            new Dictionary<string, string?> { ["TERM"] = term ?? "xterm-256color", ["NO_COLOR"] = hasColors ? null : "1" });
    }

    private static Task<ShellResult> AskAsync(RealTunnel tunnel, string name, string path) =>
        Shell.CurlAsync("-o", "/dev/null", $"http://{name}.localhost:{tunnel.Entry.Public.Port}{path}");

    private static Task<ShellResult> SignalAsync(int process, string signal) => Shell.RunAsync("kill", $"-{signal}", $"{process}");

    /// <summary>The shell's screen is back, with its cursor and its settings.</summary>
    private static async Task<string> AssertRestoredAsync(PseudoTerminal terminal, string code)
    {
        var seen = await terminal.SeeAsync(
            screen => screen.Find($"ENDED {code}") >= 0 && screen.Find("echok") >= 0, $"it ends with {code}", Limits.Work);
        Assert.Matches(@"(?<!-)\bicanon\b", seen);
        Assert.Matches(@"(?<!-)\becho\b", seen);
        Assert.True(terminal.Look(static screen => !screen.IsAlternate && screen.IsCursorVisible));
        Assert.Empty(terminal.Look(static screen => screen.Unknown.ToArray()));
        return seen;
    }

    [Fact]
    public async Task A_person_sees_the_tunnel_its_requests_the_help_and_the_code_and_gets_the_terminal_back()
    {
        var tunnel = await tunnels.GetAsync();
        await using var terminal = Start(tunnel, "scr");
        var url = $"http://scr.localhost:{tunnel.Entry.Public.Port}";
        await terminal.SeeAsync(
            screen => screen.Find("online for") >= 0
                && screen.Find($"Forwarding {url} -> http://127.0.0.1:{tunnel.BackendAddress.Port}") >= 0,
            "the tunnel is seen",
            Limits.Start);
        await terminal.SeeAsync(static screen => screen.Find("Uplinks    1 open") > 0 && screen.Find(" ms") > 0, "the round trip is seen");

        (await AskAsync(tunnel, "scr", "/bytes/5?token=secret")).EnsureSuccess();
        await AskAsync(tunnel, "scr", "/status/503");

        // A frame may come in pieces, the upper rows first.
        var seen = await terminal.SeeAsync(
            static screen => screen.Find("Requests   2") >= 0 && screen.Find("/status/503") >= 0 && screen.Find("/bytes/5") >= 0,
            "both requests are seen");
        Assert.Matches(@"(?m)^\d\d:\d\d:\d\d GET        503 +[0-9.]+ ms  /status/503$", seen);
        Assert.Matches(@"(?m)^\d\d:\d\d:\d\d GET        200 +[0-9.]+ ms  /bytes/5$", seen);
        Assert.Contains(", 1 failed", seen, StringComparison.Ordinal);
        Assert.DoesNotContain("secret", terminal.Raw, StringComparison.Ordinal);
        var row = terminal.Look(static screen => screen.Find("/status/503"));
        Assert.Equal("31", terminal.Look(screen => screen.StyleAt(row, screen.Row(row).IndexOf("503", StringComparison.Ordinal))));

        terminal.Type("?");
        await terminal.SeeAsync("finishes the requests under way");
        terminal.Type("x");
        await terminal.SeeAsync("online for");
        terminal.Type("q");
        await terminal.SeeAsync(screen => screen.Find("▀▀") >= 0 && screen.Find(url) >= 0, "the code and its address are seen");
        terminal.Type("\x1b");
        await terminal.SeeAsync("online for");

        terminal.Resize(120, 40);
        await terminal.SeeAsync(
            static screen => screen.Row(0).EndsWith("Ctrl+C stop", StringComparison.Ordinal) && screen.Row(0).Length == 120,
            "it is drawn at the new size");

        terminal.Type("\x03");
        seen = await AssertRestoredAsync(terminal, "0");
        Assert.Contains($"Forwarding {url} -> ", seen, StringComparison.Ordinal);
        Assert.Contains("2 requests, 1 failed", seen, StringComparison.Ordinal);
        Assert.Contains("Stopped", seen, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("TERM", "0")]
    [InlineData("QUIT", "131")]
    [InlineData("HUP", "0")]
    public async Task A_signal_that_ends_it_gives_the_terminal_back(string signal, string code)
    {
        var tunnel = await tunnels.GetAsync();
        await using var terminal = Start(tunnel, $"sig-{signal.ToLowerInvariant()}");
        await terminal.SeeAsync("online for", Limits.Start);
        await SignalAsync(await terminal.ProcessIdAsync(), signal);
        await AssertRestoredAsync(terminal, code);
    }

    [Fact]
    public async Task Stopped_and_continued_it_gives_the_terminal_back_and_takes_it_again()
    {
        var tunnel = await tunnels.GetAsync();
        await using var terminal = Start(tunnel, "stopped");
        await terminal.SeeAsync("online for", Limits.Start);
        var process = await terminal.ProcessIdAsync();
        for (var round = 0; round < 2; round++)
        {
            terminal.Type("\x1a");
            await terminal.SeeAsync(static screen => !screen.IsAlternate && screen.IsCursorVisible, "the shell's screen is back");
            await WaitSignal.UntilAsync(
                () => File.ReadAllText($"/proc/{process}/stat").Split(") ")[1].StartsWith('T'), "the process is stopped");
            await SignalAsync(process, "CONT");
            await terminal.SeeAsync(static screen => screen.IsAlternate && screen.Find("online for") >= 0, "the screen is back");
        }

        (await AskAsync(tunnel, "stopped", "/bytes/5")).EnsureSuccess();
        await terminal.SeeAsync("/bytes/5");
        terminal.Type("\x03");
        await AssertRestoredAsync(terminal, "0");
    }

    [Fact]
    public async Task In_a_shell_bg_lets_it_work_without_a_screen_and_fg_shows_it_again()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "The screen is Linux's.");
        var tunnel = await tunnels.GetAsync();
        await using var terminal = PseudoTerminal.Start(80, 24, ["bash", "--norc", "--noprofile", "-i"]);
        terminal.Type(
            $"dotnet {BuiltPrograms.AgentPath} http {tunnel.BackendAddress.Port} --name job --server {tunnel.Entry.Uplink}\r");
        await terminal.SeeAsync("online for", Limits.Start);
        terminal.Type("\x1a");
        await terminal.SeeAsync(static screen => !screen.IsAlternate && screen.Find("Stopped") >= 0, "the shell is back");
        terminal.Type("bg\r");
        await terminal.SeeAsync("--server 127.0.0.1");

        // A process that the system stops for touching the terminal would not answer.
        (await AskAsync(tunnel, "job", "/bytes/5")).EnsureSuccess();
        terminal.Type("jobs\r");
        await terminal.SeeAsync("Running");
        terminal.Type("fg\r");
        await terminal.SeeAsync(
            static screen => screen.IsAlternate && screen.Find("online for") >= 0 && screen.Find("/bytes/5") >= 0, "the screen is back");
        terminal.Type("\x03");
        await terminal.SeeAsync(static screen => !screen.IsAlternate && screen.Find("1 request, 0 failed") >= 0, "it has ended");
    }

    [Fact]
    public async Task A_terminal_that_takes_nothing_holds_up_no_request_and_not_the_end()
    {
        var tunnel = await tunnels.GetAsync();

        // A frame of this size is more than what the system holds for a terminal (about 20 KB).
        await using var terminal = Start(tunnel, "blocked", columns: 400, rows: 100);
        await terminal.SeeAsync("online for", Limits.Start);
        var process = await terminal.ProcessIdAsync();
        using var client = tunnel.CreateClient();
        var url = $"http://blocked.localhost:{tunnel.Entry.Public.Port}/status/200/";
        await AskAsync(client, url + new string('x', 380), 120);
        await terminal.SeeAsync("Requests   120");
        terminal.Block(true);
        terminal.Type("\f");
        await AskAsync(client, url, 3000);

        await SignalAsync(process, "INT");
        await WaitSignal.UntilAsync(() => !IsRunning(process), "the process has ended", Limits.Work);
        terminal.Block(false);
        await AssertRestoredAsync(terminal, "0");
    }

    private static async Task AskAsync(HttpClient client, string url, int times)
    {
        for (var i = 0; i < times; i++)
        {
            using var answer = await client.GetAsync(new Uri(url), TestContext.Current.CancellationToken);
            Assert.NotEqual(System.Net.HttpStatusCode.BadGateway, answer.StatusCode);
        }
    }

    [Theory]
    [InlineData("dumb", "--name=plain-1")]
    [InlineData("xterm", "--plain")]
    [InlineData("xterm", "--json")]
    [InlineData("xterm", "--verbose")]
    public async Task Lines_stay_lines_where_they_are_asked_for(string term, string flag)
    {
        var tunnel = await tunnels.GetAsync();
        await using var terminal = Start(
            tunnel, "plain", flag.StartsWith("--name", StringComparison.Ordinal) ? [] : [flag], term);
        await terminal.SeeAsync(flag == "--json" ? "\"event\":\"ready\"" : "Forwarding http://plain.", Limits.Start);
        terminal.Type("\x03");
        await terminal.SeeAsync("ENDED 0", Limits.Work);

        // What .NET itself writes at a start: the keypad's mode.
        Assert.DoesNotContain('\x1b', terminal.Raw.Replace("\x1b[?1h\x1b=", "", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Without_colours_there_are_none()
    {
        var tunnel = await tunnels.GetAsync();
        await using var terminal = Start(tunnel, "grey", hasColors: false);
        await terminal.SeeAsync("online for", Limits.Start);
        await AskAsync(tunnel, "grey", "/status/503");
        await terminal.SeeAsync("/status/503");
        terminal.Type("q");
        await terminal.SeeAsync("▀");
        Assert.Equal(["1", "7"], terminal.Look(static screen => screen.Attributes.Order(StringComparer.Ordinal).ToArray()));
        terminal.Type("\x03");
        await AssertRestoredAsync(terminal, "0");
    }

    [Fact]
    public async Task What_a_visitor_sends_steers_nothing()
    {
        var tunnel = await tunnels.GetAsync();
        await using var terminal = Start(tunnel, "hostile");
        await terminal.SeeAsync("online for", Limits.Start);

        // Bytes above ASCII: as C1 controls (0x9b is CSI), as a right-to-left override in UTF-8, and broken UTF-8.
        byte[] path =
        [
            .. "GET /bytes/7/"u8, 0x9b, .. "31mred"u8, 0xe2, 0x80, 0xae, .. "gnp"u8, 0xc3, 0xff,
            .. Encoding.ASCII.GetBytes(new string('x', 3000)),
        ];
        using (var visitor = new Socket(SocketType.Stream, ProtocolType.Tcp))
        {
            await visitor.ConnectAsync(tunnel.Entry.Public);
            await visitor.SendAsync((byte[])[.. path, .. " HTTP/1.1\r\nHost: hostile.localhost\r\nConnection: close\r\n\r\n"u8]);
            var answer = new byte[4096];
            var count = await visitor.ReceiveAsync(answer);
            Assert.StartsWith("HTTP/1.1 ", Encoding.ASCII.GetString(answer, 0, count), StringComparison.Ordinal);
        }

        (await AskAsync(tunnel, "hostile", "/bytes/9")).EnsureSuccess();
        await terminal.SeeAsync("/bytes/9");
        Assert.Empty(terminal.Look(static screen => screen.Unknown.ToArray()));
        Assert.All(terminal.Look(static screen => screen.Text.Split('\n')), static row => Assert.DoesNotContain(row, char.IsControl));
        Assert.Equal(80, terminal.Look(static screen => screen.Row(0).Length));
        terminal.Type("\x03");
        await AssertRestoredAsync(terminal, "0");
    }

    [Fact]
    public async Task A_rejection_is_read_after_the_screen_is_gone()
    {
        await using var entry = await EntryProcess.StartAsync("--Tunnel2:Agents:a:TokenHash=sha256:" + new string('0', 64));
        await using var terminal = PseudoTerminal.Start(
            80, 24, ["dotnet", BuiltPrograms.AgentPath, "http", "3000", "--token", "wrong", "--server", entry.Uplink.ToString()]);
        var seen = await AssertRestoredAsync(terminal, "3");
        Assert.Contains("The server does not accept the token", seen, StringComparison.Ordinal);
    }

    private static bool IsRunning(int process) =>
        File.Exists($"/proc/{process}/stat") && !File.ReadAllText($"/proc/{process}/stat").Split(") ")[1].StartsWith('Z');
}
