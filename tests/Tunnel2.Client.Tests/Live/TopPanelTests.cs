using System.Text;
using System.Text.Json;
using Tunnel2.Client.Live;
using Tunnel2.Client.Terminals;
using Tunnel2.Client.Tests.Terminals;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Live;

public sealed class TopPanelTests
{
    private const long Now = 1_700_000_010_000_000;

    private readonly ManualTimeProvider _time = new();
    private readonly TopPanel _panel;
    private int _quits;

    public TopPanelTests()
    {
        _panel = new TopPanel(new TopState("1s"), "127.0.0.1:12002", static () => Now, () => _quits++);
        _panel.Note(null);
    }

    private static string Stats(int requests, int errors = 0, int p95Us = 20_000, long bytesOut = 2_500_000, int seconds = 1) =>
        $$"""{"startUs":{{Now - 2_000_000 - (seconds * 1_000_000L)}},"seconds":{{seconds}},"requests":{{requests}},"errors":{{errors}}"""
            + $$""","bytesIn":5,"bytesOut":{{bytesOut}},"p50Us":1500,"p95Us":{{p95Us}},"p99Us":11000000,"missed":0,"dropped":0}""";

    private void Tell(string message) => _panel.Change(state => state.Apply(Encoding.UTF8.GetBytes(message)));

    private void Message(string channel, string key, string data) =>
        Tell($$"""{"type":"message","channel":"{{channel}}","key":"{{key}}","seq":1,"data":{{data}}}""");

    private void Online(string name, bool isOnline = true) => Message(
        $"session.{name}.status", "status",
        $$"""{"session":"{{name}}","online":{{(isOnline ? "true" : "false")}},"agent":"tunnel2 0.1.0","uplinks":2}""");

    private void Session(string name, int requests, int errors = 0, int p95Us = 20_000)
    {
        Online(name);
        Message($"session.{name}.stats", "1s", Stats(requests, errors, p95Us));
    }

    private void Press(string keys)
    {
        var reader = new KeyReader();
        reader.Read(Encoding.UTF8.GetBytes(keys), _panel.OnKey);
        reader.Pause(_panel.OnKey);
    }

    private string[] See(int columns = 80, int rows = 24)
    {
        var terminal = new FakeTerminal(columns, rows);
        using var screen = new TerminalScreen(terminal, _panel, _time, hasColors: true);
        screen.Turn(TimeSpan.Zero);
        Assert.Empty(terminal.Screen.Unknown);
        return [.. Enumerable.Range(0, rows).Select(terminal.Screen.Row)];
    }

    private string[] Names() => [.. See()[3..^1].TakeWhile(static row => row.Length > 0).Select(static row => row.Split(' ')[0])];

    [Fact]
    public void At_80_by_24_every_figure_is_seen()
    {
        Session("web", 1200, 3);
        Session("a-name-that-is-much-longer-than-its-column", 7);
        Online("away", isOnline: false);
        Message("node.stats", "1s", Stats(1207, 3));
        Assert.Equal(
            [
                "tunnel2 top  127.0.0.1:12002                   2 of 3 sessions online, window 1s",
                "1207 req/s  3 errors/s  p50 1.50ms  p95 20ms  p99 11.0s  in 5B/s  out 2.5MB/s",
                "session                   req/s▼   err/s     p50     p95     p99    in/s   out/s",
                "web                         1200       3  1.50ms    20ms   11.0s      5B   2.5MB",
                "a-name-that-is-much-lo…        7       0  1.50ms    20ms   11.0s      5B   2.5MB",
                "away                   -       0       0       -       -       -      0B      0B",
            ],
            See()[..6]);
        Assert.Equal("Enter session  / filter  s sort  r reverse  w window  ? help  q quit         1/3", See()[^1]);
    }

    [Fact]
    public void With_more_columns_agents_are_seen()
    {
        Session("web", 1);
        Assert.EndsWith("  tunnel2 0.1.0, 2 uplinks", See(140, 40)[3], StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("", "busy slow web")]
    [InlineData("r", "web slow busy")]
    [InlineData("1", "busy slow web")]
    [InlineData("1r", "web slow busy")]
    [InlineData("s", "slow busy web")]
    [InlineData("5", "slow web busy")]
    [InlineData("sss", "slow web busy")]
    [InlineData("<", "busy slow web")]
    [InlineData("S", "busy slow web")]
    [InlineData("sS", "busy slow web")]
    public void Keys_choose_by_which_column_sessions_are_sorted(string keys, string names)
    {
        Session("web", 1, errors: 0, p95Us: 300);
        Session("slow", 2, errors: 2, p95Us: 9_000_000);
        Session("busy", 900, errors: 1, p95Us: 200);
        Press(keys);
        Assert.Equal(names, string.Join(' ', Names()));
    }

    [Fact]
    public void A_filter_is_typed_kept_and_cleared()
    {
        Session("web", 1);
        Session("api", 2);
        Session("web-2", 3);
        Press("/WE");
        Assert.Equal("/WE_   Enter keeps it, Esc clears it", See()[^1]);
        Assert.Equal(["web-2", "web"], Names());

        // Letters that are keys elsewhere are text here.
        Press("q");
        Assert.Equal("no session matches the filter", See()[3]);
        Press("\x7f\r");
        Assert.Equal(["web-2", "web"], Names());
        Assert.StartsWith("/WE  Esc all", See()[^1], StringComparison.Ordinal);
        Press("\x1b");
        Assert.Equal(["web-2", "api", "web"], Names());
        Press("/" + new string('x', 10_000));
        Assert.Equal(80, See()[^1].Length);
        Press("\x1b");
        Assert.Equal(3, Names().Length);
        Assert.Equal(0, _quits);
    }

    [Fact]
    public void The_selection_follows_its_session_and_the_table_follows_the_selection()
    {
        for (int i = 0; i < 100; i++)
        {
            Session($"s{i:000}", 1000 - i);
        }

        See();
        Press("\x1b[B\x1b[B");
        See();
        Assert.EndsWith("3/100", See()[^1], StringComparison.Ordinal);
        Session("s002", 5000);
        Assert.EndsWith("1/100", See()[^1], StringComparison.Ordinal);
        Press("\x1b[F");
        Assert.StartsWith("s099", See()[^2], StringComparison.Ordinal);
        Press("\x1b[5~");
        Assert.EndsWith("80/100", See()[^1], StringComparison.Ordinal);
        Press("\x1b[H");
        Assert.StartsWith("s002", See()[3], StringComparison.Ordinal);
        Tell("""{"type":"removed","channel":"session.s002.status"}""");
        Assert.EndsWith("1/99", See()[^1], StringComparison.Ordinal);
    }

    [Fact]
    public async Task Enter_opens_a_session_with_its_requests_and_escape_goes_back()
    {
        Session("web", 5, 1);
        Message("session.web.stats", "1m", Stats(120, 6, seconds: 60));
        Task chosen = _panel.NextChoice();
        See();
        Press("\r");
        await chosen.WaitAsync(AsyncCounter.DefaultTimeout);
        Assert.Equal("web", _panel.WantedSession);
        _panel.Change(static state =>
        {
            state.Watch("web");
            return true;
        });
        Message(
            "session.web.requests", "0",
            """{"sequence":1,"session":"web","method":"GET","target":"/a","status":200,"startedUs":1700000000000000,"totalUs":1500}""");
        Message(
            "session.web.requests", "1",
            """{"sequence":2,"session":"web","method":"POST","target":"/b\u001b[2J","status":502,"startedUs":1700000000000000"""
                + ""","totalUs":1500,"error":"backend-refused","skipped":7}""");
        Message(
            "session.other.requests", "0",
            """{"sequence":3,"session":"other","method":"GET","target":"/c","status":200,"startedUs":1700000000000000,"totalUs":1500}""");
        string[] seen = See();
        Assert.StartsWith("web", seen[0], StringComparison.Ordinal);
        Assert.EndsWith("Esc goes back", seen[0], StringComparison.Ordinal);
        Assert.Equal("tunnel2 0.1.0, 2 uplinks", seen[1]);
        Assert.Equal("1s             5       1  1.50ms    20ms   11.0s      5B   2.5MB", seen[4]);
        Assert.Equal("1m           2.0     0.1  1.50ms    20ms   11.0s      0B  41.7kB", seen[6]);
        Assert.Equal("Requests, the newest first, and 7 more that the server left out", seen[8]);
        Assert.Matches("^..:..:.. POST    502   1.50ms  /b\\?\\[2J  backend-refused$", seen[9]);
        Assert.Matches("^..:..:.. GET     200   1.50ms  /a$", seen[10]);
        Assert.DoesNotContain(seen, static row => row.Contains("/c", StringComparison.Ordinal));

        Press("?");
        Assert.StartsWith("tunnel2 top: help", See()[0], StringComparison.Ordinal);
        Press("x");
        Assert.Equal(seen, See());
        Assert.Equal("web", _panel.WantedSession);
        chosen = _panel.NextChoice();
        Press("\x1b");
        await chosen.WaitAsync(AsyncCounter.DefaultTimeout);
        Assert.Null(_panel.WantedSession);
        Assert.StartsWith("tunnel2 top", See()[0], StringComparison.Ordinal);
    }

    [Fact]
    public void A_session_that_goes_while_it_is_looked_at_is_said()
    {
        Session("web", 5);
        See();
        Press("\r");
        Tell("""{"type":"removed","channel":"session.web.status"}""");
        Assert.Equal("There is no such session any more.", See()[1]);
    }

    [Fact]
    public void Without_sessions_the_table_says_so_and_Enter_opens_nothing()
    {
        Assert.Equal("no session yet", See()[3]);
        Press("\r\x1b[B\x1b[A");
        Assert.Null(_panel.WantedSession);
    }

    [Fact]
    public void Windows_are_switched_and_q_and_help_do_what_they_say()
    {
        Message("node.stats", "10s", Stats(25, seconds: 10));
        Press("w");
        Assert.EndsWith("window 10s", See()[0], StringComparison.Ordinal);
        Assert.StartsWith("2.5 req/s", See()[1], StringComparison.Ordinal);
        Press("?");
        Assert.StartsWith("tunnel2 top: help", See()[0], StringComparison.Ordinal);
        Assert.All(See(), static row => Assert.True(row.Length <= 80));
        Press("q");
        Assert.Equal(0, _quits);
        Press("q");
        Assert.Equal(1, _quits);
    }

    [Fact]
    public void A_pause_and_gaps_are_seen_and_the_pause_goes()
    {
        _panel.Note("paused: the server is short of memory");
        Tell("""{"type":"gap","dropped":1200}""");
        string[] seen = See();
        Assert.Equal("paused: the server is short of memory", seen[2]);
        Assert.Equal("gaps: 1,200 messages skipped here, 0 requests missed by the server", seen[3]);
        _panel.Note(null);
        Assert.StartsWith("gaps:", See()[2], StringComparison.Ordinal);
    }

    [Fact]
    public void While_the_hub_sends_nothing_figures_are_unknown_and_later_the_pause_is_a_gap()
    {
        // A minute that was over long ago: the present one is known to be empty as soon as messages come.
        string past = Stats(7, seconds: 60).Replace($"{Now - 62_000_000}", $"{Now - 662_000_000}", StringComparison.Ordinal);
        Session("web", 7);
        Message("session.web.stats", "1m", past);
        Message("node.stats", "1s", Stats(7));
        Message("node.stats", "1m", past);
        Press("ww");
        Tell("""{"type":"paused"}""");
        string[] seen = See();
        Assert.Equal("- req/s  - errors/s  p50 -  p95 -  p99 -  in -/s  out -/s", seen[1]);
        Assert.Matches("^web +- +- +- +- +- +- +-$", seen[3]);
        Press("w");
        Assert.StartsWith("7 req/s", See()[1], StringComparison.Ordinal);
        Tell("""{"type":"resumed"}""");
        Press("ww");
        seen = See();
        Assert.StartsWith("0 req/s", seen[1], StringComparison.Ordinal);
        Assert.Equal("gaps: paused 1 time by the server; nothing is known of that time", seen[2]);
        Assert.Matches("^web +0 +0 ", seen[4]);
    }

    [Fact]
    public void As_json_too_what_is_unknown_during_a_pause_is_no_zero()
    {
        string[] figures = ["requests", "errors", "bytesIn", "bytesOut", "p50Us", "p95Us", "p99Us"];
        Session("web", 7);
        Message("node.stats", "1s", Stats(7));
        Tell("""{"type":"paused"}""");

        // The last window that came is still the present one.
        Assert.Equal((7, 7), (Json(0, "node").GetProperty("requests").GetInt32(), Json(0, "sessions").GetProperty("requests").GetInt32()));
        foreach (string part in new[] { "node", "sessions" })
        {
            JsonElement unknown = Json(60_000_000, part);
            Assert.All(figures, name => Assert.Equal((name, JsonValueKind.Null), (name, unknown.GetProperty(name).ValueKind)));
            Assert.Equal(1, unknown.GetProperty("seconds").GetInt32());
        }

        Tell("""{"type":"resumed"}""");
        Assert.All(figures, name => Assert.Equal((name, 0), (name, Json(60_000_000, "node").GetProperty(name).GetInt32())));

        JsonElement Json(long laterUs, string part)
        {
            using var json = JsonDocument.Parse(_panel.Change(state => TopJson.Write(state, "s", Now + laterUs)));
            Assert.Equal(_panel.Change(static state => state.IsPaused), json.RootElement.GetProperty("paused").GetBoolean());
            JsonElement found = json.RootElement.GetProperty(part);
            return (part == "sessions" ? found[0] : found).Clone();
        }
    }

    [Fact]
    public void A_snapshot_after_a_pause_repeats_no_request_and_the_gap_has_a_row()
    {
        Session("web", 5, 1);
        See();
        Press("\r");
        _panel.Change(static state =>
        {
            state.Watch("web");
            return true;
        });
        Request(7, "/a");
        Request(8, "/b");
        Tell("""{"type":"paused"}""");
        Tell("""{"type":"resumed"}""");
        Request(7, "/a");
        Request(8, "/b");
        Request(20, "/c");
        Request(20, "/c");
        string[] seen = [.. See().SkipWhile(static row => !row.StartsWith("Requests, ", StringComparison.Ordinal)).Skip(1)];
        Assert.EndsWith("/c", seen[0], StringComparison.Ordinal);
        Assert.Equal("-- gap: requests may be missing here --", seen[1]);
        Assert.EndsWith("/b", seen[2], StringComparison.Ordinal);
        Assert.EndsWith("/a", seen[3], StringComparison.Ordinal);
        Assert.Equal("", seen[4]);

        void Request(int sequence, string target) => Message(
            "session.web.requests", "0",
            $$"""{"sequence":{{sequence}},"session":"web","method":"GET","target":"{{target}}","status":200"""
                + ""","startedUs":1700000000000000,"totalUs":1500}""");
    }

    [Theory]
    [InlineData(1, 1)]
    [InlineData(20, 3)]
    [InlineData(500, 200)]
    public void Any_size_is_drawn(int columns, int rows)
    {
        Session("web", 5);
        foreach (string keys in new[] { "", "/w", "\x1b\r", "\x1b?" })
        {
            Press(keys);
            Assert.All(See(columns, rows), row => Assert.True(row.Length <= columns));
        }
    }

    [Fact]
    public void One_object_of_JSON_has_all_that_the_table_has()
    {
        Session("web", 1200, 3);
        Online("away", isOnline: false);
        Message("node.stats", "1s", Stats(1207, 3));
        Tell("""{"type":"gap","dropped":12}""");
        string line = _panel.Change(static state => TopJson.Write(state, "127.0.0.1:12002", Now));
        Assert.DoesNotContain('\n', line);
        JsonElement root = JsonDocument.Parse(line).RootElement;
        Assert.Equal(("127.0.0.1:12002", "1s", 12L), (
            root.GetProperty("server").GetString(), root.GetProperty("window").GetString(), root.GetProperty("skipped").GetInt64()));
        Assert.Equal(1207, root.GetProperty("node").GetProperty("requests").GetInt64());
        JsonElement[] sessions = [.. root.GetProperty("sessions").EnumerateArray()];
        Assert.Equal(["web", "away"], sessions.Select(static one => one.GetProperty("session").GetString()));
        Assert.Equal((true, 1200L, 3L, 2_500_000L, 11_000_000L), (
            sessions[0].GetProperty("online").GetBoolean(), sessions[0].GetProperty("requests").GetInt64(),
            sessions[0].GetProperty("errors").GetInt64(), sessions[0].GetProperty("bytesOut").GetInt64(),
            sessions[0].GetProperty("p99Us").GetInt64()));
        Assert.Equal((false, 0L), (sessions[1].GetProperty("online").GetBoolean(), sessions[1].GetProperty("requests").GetInt64()));
    }
}
