using System.Text;
using Tunnel2.Client.Live;

namespace Tunnel2.Client.Tests.Live;

public sealed class TopTests
{
    private const long Now = 1_700_000_010_000_000;

    private static TopOptions Options(int seconds = 1) =>
        new() { Hub = new Uri("ws://127.0.0.1:1/live"), Server = "127.0.0.1:1", WindowSeconds = seconds };

    private static TopState State(params string[] messages)
    {
        var state = new TopState("1s");
        foreach (string message in messages)
        {
            state.Apply(Encoding.UTF8.GetBytes(message));
        }

        return state;
    }

    private static string Stats(long startUs, int requests, int errors = 0, int seconds = 1) =>
        $$"""{"startUs":{{startUs}},"seconds":{{seconds}},"requests":{{requests}},"errors":{{errors}}"""
            + ""","bytesIn":5,"bytesOut":2500000,"p50Us":1500,"p95Us":20000,"p99Us":11000000,"missed":0,"dropped":0}""";

    private static string Message(string channel, string key, string data) =>
        $$"""{"type":"message","channel":"{{channel}}","key":"{{key}}","seq":1,"data":{{data}}}""";

    private static string Node(string name, string state) => Message(
        "cluster.nodes", name, $$"""{"node":"{{name}}","state":"{{state}}","version":"1.2.3","skipped":0}""");

    private static string Online(string name) =>
        Message($"session.{name}.status", "status", $$"""{"session":"{{name}}","online":true,"agent":"1.2.3","uplinks":2}""");

    [Fact]
    public void Sessions_are_shown_busiest_first_with_their_rates_and_durations()
    {
        TopState state = State(
            Online("quiet"), Online("busy"),
            Message("session.quiet.stats", "1s", Stats(Now - 2_000_000, 7)),
            Message("session.busy.stats", "1s", Stats(Now - 2_000_000, 1200, 3)),
            Message("node.stats", "1s", Stats(Now - 2_000_000, 1207, 3)));
        List<string> lines = new TopView(Options()).Render(state, Now, null, 0);
        Assert.Equal(
            "tunnel2 top  127.0.0.1:1  2 sessions online  1207 req/s  3 errors/s  p50 1.50ms  p95 20ms  p99 11.0s  in 5B/s  out 2.5MB/s",
            lines[0]);
        Assert.Equal(
            "busy                          1200         3    1.50ms      20ms     11.0s        5B     2.5MB  1.2.3, 2 uplinks", lines[3]);
        Assert.StartsWith("quiet ", lines[4], StringComparison.Ordinal);
    }

    [Fact]
    public void A_window_that_is_not_over_for_the_first_time_is_unknown_and_not_empty()
    {
        TopState state = State(
            Online("web"), Online("quiet"), Message("session.web.stats", "1s", Stats(Now - 2_000_000, 7)),
            Message("node.stats", "1s", Stats(Now - 2_000_000, 7)));
        state.Window = 2;
        List<string> lines = new TopView(Options(60)).Render(state, Now, null, 0);
        Assert.Contains("  - req/s  ", lines[0], StringComparison.Ordinal);
        Assert.Matches("^web +- +- ", Assert.Single(lines, static line => line.StartsWith("web", StringComparison.Ordinal)));
        Assert.Matches("^quiet +0 +0 ", Assert.Single(lines, static line => line.StartsWith("quiet", StringComparison.Ordinal)));

        state.Apply(Encoding.UTF8.GetBytes(Message("node.stats", "1m", Stats(Now - 60_000_000, 600, 0, 60))));
        Assert.Contains("  10 req/s  ", new TopView(Options(60)).Render(state, Now, null, 0)[0], StringComparison.Ordinal);
    }

    [Fact]
    public void Sessions_of_all_nodes_are_shown_with_their_node_and_those_of_a_lost_one_without_figures()
    {
        TopState state = State(
            Message("cluster.info", "cluster", """{"node":"n1"}"""), Node("n1", "up"), Node("n2", "lost"), Node("n3", "older"),
            Message("at.n1.session.web.status", "status", """{"session":"web","online":true,"agent":"1.2.3","uplinks":2}"""),
            Message("at.n2.session.web.status", "status", """{"session":"web","online":true,"agent":"1.2.3","uplinks":2}"""),
            Message("at.n1.session.web.stats", "1s", Stats(Now - 2_000_000, 7)),
            Message("at.n2.session.web.stats", "1s", Stats(Now - 2_000_000, 9)),
            Message("cluster.stats", "1s", Stats(Now - 2_000_000, 7)));
        List<string> lines = new TopView(Options()).Render(state, Now, null, 0);
        Assert.Contains("  7 req/s  ", lines[0], StringComparison.Ordinal);
        Assert.Equal("nodes: n1, n2 (lost), n3 (no live view: older release)", lines[1]);
        Assert.Matches("^session +node +req/s ", lines[3]);
        Assert.Matches("^web +n1 +7 +0 .*1\\.2\\.3, 2 uplinks$", lines[4]);
        Assert.Matches("^web +n2 +- +- +- .*node lost$", lines[5]);
        string json = TopJson.Write(state, "s", Now);
        Assert.Contains("""
            "nodes":[{"node":"n1","state":"up",
            """, json, StringComparison.Ordinal);
        Assert.Contains("""{"session":"web","node":"n1","online":true,""", json, StringComparison.Ordinal);
        Assert.Contains(
            """{"session":"web","node":"n2","online":true,"agent":"1.2.3","uplinks":2,"seconds":1,"requests":null,""", json,
            StringComparison.Ordinal);
    }

    [Fact]
    public void A_session_that_ends_at_one_node_stays_at_the_other()
    {
        TopState state = State(
            Message("cluster.info", "cluster", """{"node":"n1"}"""),
            Message("at.n1.session.web.status", "status", """{"session":"web","online":true,"agent":"1.2.3","uplinks":2}"""),
            Message("at.n2.session.web.status", "status", """{"session":"web","online":true,"agent":"1.2.3","uplinks":2}"""),
            """{"type":"removed","channel":"at.n1.session.web.status"}""");
        Assert.Equal(["web@n2"], state.Sessions.Keys);
    }

    [Fact]
    public void A_window_that_is_over_is_no_longer_the_present()
    {
        TopState state = State(Online("web"), Message("session.web.stats", "1s", Stats(Now - 5_000_000, 7)));
        Assert.Matches("^web +0 +0 +- +- +- +0B +0B ", new TopView(Options()).Render(state, Now, null, 0)[3]);
    }

    [Fact]
    public void Longer_windows_are_shown_per_second()
    {
        var state = new TopState("10s");
        state.Apply(Encoding.UTF8.GetBytes(Message("session.web.stats", "10s", Stats(Now - 12_000_000, 25, seconds: 10))));
        state.Apply(Encoding.UTF8.GetBytes(Message("session.web.stats", "1s", Stats(Now - 2_000_000, 999))));
        Assert.Matches("^web +2\\.5 +0 .* 1B +250\\.0kB ", new TopView(Options(10)).Render(state, Now, null, 0)[3]);
    }

    [Fact]
    public void A_snapshot_a_removal_and_a_gap_are_understood()
    {
        TopState state = State(
            $$"""{"type":"snapshot","channel":"session.web.stats","seq":9,"messages":[{"key":"1s","seq":9,"data":{{Stats(Now, 1)}}}]}""",
            Online("gone"),
            """{"type":"removed","channel":"session.gone.status"}""",
            """{"type":"gap","dropped":12}""");
        Assert.Equal(["web"], state.Sessions.Keys);
        Assert.Equal(12, state.Skipped);
        Assert.Contains("12 messages skipped", new TopView(Options()).Render(state, Now, null, 0)[1], StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("no json")]
    [InlineData("[]")]
    [InlineData("{}")]
    [InlineData("""{"type":"message","channel":"node.stats","key":"1s","data":{}}""")]
    [InlineData("""{"type":"message","channel":"session.a.stats","key":"1s","data":{"startUs":"x"}}""")]
    [InlineData("""{"type":"message","channel":null,"key":"1s","data":{}}""")]
    [InlineData("""{"type":"error","code":"invalid-channel"}""")]
    public void What_is_not_the_hubs_is_refused(string message) => Assert.Throws<InvalidDataException>(() => State(message));

    [Fact]
    public void More_sessions_than_lines_are_counted()
    {
        TopState state = State([.. Enumerable.Range(0, 30).Select(static i => Online($"s{i:00}"))]);
        List<string> lines = new TopView(Options()).Render(state, Now, null, 12);
        Assert.Equal(12, lines.Count);
        Assert.Equal("and 22 more", lines[^1]);
    }

    [Fact]
    public void On_a_terminal_lines_are_cut_and_drawn_over_and_elsewhere_they_follow_each_other()
    {
        using var terminal = new StringWriter();
        var screen = new TopScreen(terminal, static () => (20, 5));
        screen.Show(["a line of more than twenty characters", "b"], isLast: false);
        screen.Show(["c"], isLast: false);
        Assert.Equal("\x1b[2J\x1b[Ha line of more than \x1b[K\r\nb\x1b[K\x1b[J\x1b[Hc\x1b[K\x1b[J", terminal.ToString());

        using var file = new StringWriter { NewLine = "\n" };
        var plain = new TopScreen(file, null);
        plain.Show(["a"], isLast: false);
        plain.Show(["b"], isLast: false);
        Assert.Equal("a\n\nb\n", file.ToString().ReplaceLineEndings("\n"));
    }

    [Theory]
    [InlineData("top", null, null, "ws://127.0.0.1:12002/live")]
    [InlineData("top --host 10.0.0.1", null, null, "ws://10.0.0.1:12002/live")]
    [InlineData("top --host [::1]:7", "secret", null, "ws://[::1]:7/live")]
    [InlineData("top --host https://t.example.com/", "secret", null, "wss://t.example.com/live")]
    [InlineData("top --host t.example.com:7", "secret", "1", "ws://t.example.com:7/live")]
    public void The_server_is_found_by_host_and_port(string line, string? token, string? allow, string hub)
    {
        var mistakes = new List<string>();
        TopOptions? options = new TopCommandLine().Parse(
            line.Split(' '),
            name => name switch { TopCommandLine.TokenVariable => token, "TUNNEL2_ALLOW_PLAINTEXT" => allow, _ => null },
            mistakes);
        Assert.Empty(mistakes);
        Assert.Equal(hub, options!.Hub.ToString());
        Assert.Equal(token, options.Token);
    }

    [Theory]
    [InlineData("top --host 10.0.0.1 --token secret", "unencrypted")]
    [InlineData("top --window 5s", "--window")]
    [InlineData("top --host a:b:c", "--host")]
    [InlineData("top --token", "lacks its value")]
    [InlineData("top --onse", "unknown flag")]
    public async Task A_wrong_command_line_is_reported_and_shows_no_secret(string line, string message)
    {
        using var output = new StringWriter();
        using var error = new StringWriter();
        Assert.Equal(2, await TopCommand.RunAsync(line.Split(' '), static _ => null, output, error, CancellationToken.None));
        Assert.Contains(message, error.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("secret", error.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_server_that_is_not_there_is_reported_with_4()
    {
        using var output = new StringWriter();
        using var error = new StringWriter();
        Assert.Equal(
            4,
            await TopCommand.RunAsync(["top", "--once", "--host", "127.0.0.1:1"], static _ => null, output, error, CancellationToken.None));
        Assert.StartsWith("tunnel2: 127.0.0.1:1: Connection refused", error.ToString(), StringComparison.Ordinal);
    }
}
