using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Screens;
using Tunnel2.Client.Terminals;
using Tunnel2.Client.Tests.Terminals;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Screens;

public sealed class AgentScreenTests
{
    private static readonly BackendTarget _upstream = new(false, "127.0.0.1", 3000);

    private readonly ManualTimeProvider _time = new(new DateTimeOffset(2026, 11, 23, 12, 0, 0, TimeSpan.Zero));
    private readonly AgentScreen _screen;

    public AgentScreenTests() => _screen = Screen(resolves: true);

    private AgentScreen Screen(bool resolves) => new(
        new AgentOptions { Upstream = _upstream, Name = "web" },
        new HumanEventFormatter(ServerEndpoint.Default, verbose: false),
        _time,
        hasColors: true,
        (_, _) => Task.FromResult(resolves));

    private ValueTask TellAsync(AgentEvent agentEvent) => _screen.WriteAsync(agentEvent, TextWriter.Null, CancellationToken.None);

    private ValueTask ReadyAsync(params string[] urls) =>
        TellAsync(new ReadyEvent(_time.GetUtcNow(), urls.Length == 0 ? ["http://web.localhost:12000/"] : urls, _upstream));

    private ValueTask RequestAsync(string target, int status, double milliseconds = 1.234, string? error = null, string? leg = null) =>
        TellAsync(new RequestCompletedEvent(
            _time.GetUtcNow(), new RequestSummary("GET", target, status, TimeSpan.FromMilliseconds(milliseconds), 0, 0, error, leg)));

    /// <summary>What a person sees on a terminal of that size.</summary>
    private VirtualTerminal See(int columns = 80, int rows = 24)
    {
        var terminal = new FakeTerminal(columns, rows);
        using var screen = new TerminalScreen(terminal, _screen, _time, hasColors: true);
        screen.Turn(TimeSpan.Zero);
        Assert.Empty(terminal.Screen.Unknown);

        // Not the shell's, which comes back with the end.
        var seen = new VirtualTerminal(columns, rows);
        foreach ((int row, string text) in Enumerable.Range(0, rows).Select(row => (row, terminal.Screen.Row(row))))
        {
            seen.Write(System.Text.Encoding.UTF8.GetBytes($"\x1b[{row + 1};1H{text}"));
        }

        return seen;
    }

    [Theory]
    [InlineData("http://web.localhost:12000/", true)]
    [InlineData("https://web.localhost:12443/", false)]
    public async Task Certificates_of_visitors_at_a_server_without_https_are_a_warning_that_stays(string url, bool isSaid)
    {
        var rules = new AccessRules { ClientAuthorities = [new byte[1]] };
        var options = new AgentOptions { Upstream = _upstream, Name = "web", Access = rules };
        var screen = new AgentScreen(
            options, new HumanEventFormatter(ServerEndpoint.Default, verbose: false), _time, false, (_, _) => Task.FromResult(true));
        await screen.WriteAsync(new ReadyEvent(_time.GetUtcNow(), [url], _upstream), TextWriter.Null, CancellationToken.None);
        await screen.WriteAsync(new DrainingEvent(_time.GetUtcNow()), TextWriter.Null, CancellationToken.None);
        string text = string.Join('\n', screen.Render(120, 24).Select(static row => row.ToString()));
        Assert.Equal(isSaid, text.Contains("No visitor gets in: --client-ca", StringComparison.Ordinal));
    }

    private void Press(char key) => _screen.OnKey(new ScreenKey(ScreenKeyKind.Character, key));

    [Fact]
    public async Task At_80_by_24_a_person_sees_what_the_tunnel_is_and_its_last_requests()
    {
        await TellAsync(new ConnectingEvent(_time.GetUtcNow(), ServerEndpoint.Default));
        await TellAsync(new UplinksEvent(
            _time.GetUtcNow(), static () => new UplinkReading(2, 1, TimeSpan.FromMilliseconds(1.5), TimeSpan.FromMilliseconds(20))));
        await ReadyAsync("http://web.localhost:12000/", "http://web-e1.localhost:12000/");
        await RequestAsync("/first?token=secret", 200);
        _time.Advance(TimeSpan.FromSeconds(61));
        await RequestAsync("/gone", 404, 12_345);
        await RequestAsync("/down", 0, 0.4, "connection refused", "backend");

        Assert.Equal(
            """
            tunnel2                                           q QR code  ? help  Ctrl+C stop
            Status     online for 1 min 1 s
            Forwarding http://web.localhost:12000 -> http://127.0.0.1:3000
            Forwarding http://web-e1.localhost:12000 -> http://127.0.0.1:3000
            Server     127.0.0.1:12001
            Round trip 1.50 ms to 20 ms
            Uplinks    2 open, 1 stalled
            Requests   3, 0.0 a second, 1 failed

            TIME     METHOD  STATUS DURATION  PATH
            12:01:01 GET          -  0.40 ms  /down  backend: connection refused
            12:01:01 GET        404   12.3 s  /gone
            12:00:00 GET        200  1.23 ms  /first
            """,
            See().Text);
    }

    [Fact]
    public async Task A_reason_has_the_room_that_a_short_path_leaves_and_most_of_it_beside_a_long_one()
    {
        await ReadyAsync();
        await RequestAsync("/" + new string('p', 60), 200, 1, "closed the connection in the middle of its answer", "backend");
        await RequestAsync("/half", 200, 1, "closed the connection in the middle of its answer", "backend");
        var seen = See().Text;
        Assert.Contains("  /half  backend: closed the connection in the …\n", seen, StringComparison.Ordinal);
        Assert.Contains($"  /{new string('p', 12)}…  backend: closed the connectio…", seen, StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_rate_is_that_of_the_last_ten_seconds()
    {
        await ReadyAsync();
        for (int i = 0; i < 18; i++)
        {
            await RequestAsync("/", 200);
        }

        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Contains("Requests   18, 2.0 a second", See().Text, StringComparison.Ordinal);
        _time.Advance(TimeSpan.FromSeconds(10));
        Assert.Contains("Requests   18, 0.0 a second", See().Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_outage_shows_since_when_why_and_when_the_next_attempt_comes()
    {
        await ReadyAsync();
        await TellAsync(new ConnectionEndedEvent(_time.GetUtcNow(), ConnectionEnd.Lost("the connection broke", TimeSpan.FromSeconds(9))));
        await TellAsync(new ReconnectingEvent(_time.GetUtcNow(), TimeSpan.FromSeconds(3)));
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Contains("Status     offline for 1 s, next attempt in 2 s: the connection broke", See().Text, StringComparison.Ordinal);

        _time.Advance(TimeSpan.FromSeconds(2));
        await TellAsync(new ConnectingEvent(_time.GetUtcNow(), ServerEndpoint.Default));
        var failure = ConnectFailure.Create(ServerEndpoint.Default, ConnectFailureReason.Refused);
        await TellAsync(new ConnectionEndedEvent(_time.GetUtcNow(), ConnectionEnd.Unreachable(failure)));
        Assert.Contains("offline for 3 s, connecting: Cannot reach the server at 127.0.0.1:12001", See(120).Text, StringComparison.Ordinal);

        await ReadyAsync();
        Assert.Contains("Status     online for 0 s", See().Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_service_that_is_down_is_said_until_it_is_back()
    {
        await ReadyAsync();
        await TellAsync(new BackendUnreachableEvent(_time.GetUtcNow(), _upstream, "Nothing listens at http://127.0.0.1:3000"));
        Assert.Contains("Service    Nothing listens at http://127.0.0.1:3000", See().Text, StringComparison.Ordinal);
        await TellAsync(new BackendReachableEvent(_time.GetUtcNow(), _upstream));
        Assert.DoesNotContain("Nothing listens", See().Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Where_requests_can_be_inspected_the_page_is_named()
    {
        await ReadyAsync();
        Assert.DoesNotContain("Inspect", See().Text, StringComparison.Ordinal);
        await TellAsync(new InspectorReadyEvent(_time.GetUtcNow(), "http://127.0.0.1:4041", "port 4040 is taken"));
        Assert.Contains("Inspect    http://127.0.0.1:4041", See().Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Where_the_name_has_no_address_a_command_that_works_is_shown()
    {
        AgentScreen screen = Screen(resolves: false);
        await screen.WriteAsync(
            new ReadyEvent(_time.GetUtcNow(), ["http://web.localhost:12000/"], _upstream), TextWriter.Null, CancellationToken.None);
        Assert.Contains(
            screen.Render(120, 40),
            static row => row.ToString() == "Try        curl -H 'Host: web.localhost' http://127.0.0.1:12000/");
    }

    [Fact]
    public async Task Texts_of_others_steer_nothing_and_stay_in_their_row()
    {
        string hostile = "/\x1b[31m\x1b]0;title\a\u202egnp\u2066\u009b2J\r\n日本語e\u0301\u0301\u0301\u0301\ud800"
            + new string('x', 70_000);
        await ReadyAsync("http://web.localhost:12000/\x1b[2J");
        await RequestAsync(hostile, 200, error: hostile, leg: "backend");
        await TellAsync(new RequestCompletedEvent(
            _time.GetUtcNow(), new RequestSummary(hostile, "/", 200, TimeSpan.FromMilliseconds(1), 0, 0)));
        await TellAsync(new BackendSurplusEvent(_time.GetUtcNow(), _upstream, hostile));
        foreach ((int columns, int rows) in new[] { (80, 24), (120, 40), (20, 5), (1, 1), (300, 100) })
        {
            VirtualTerminal seen = See(columns, rows);
            Assert.Empty(seen.Unknown);
            Assert.DoesNotContain("\u202e", seen.Text, StringComparison.Ordinal);
        }

        foreach (ScreenRow row in _screen.Render(80, 24))
        {
            Assert.DoesNotContain(row.ToString(), char.IsControl);
            Assert.True(DisplayText.WidthOf(row.ToString()) <= 80 || row.ToString().StartsWith("Notice", StringComparison.Ordinal)
                || row.ToString().StartsWith("Forwarding", StringComparison.Ordinal));
        }
    }

    [Fact]
    public async Task A_million_requests_hold_no_more_than_a_screen_full()
    {
        var state = new AgentScreenState();
        for (int i = 0; i < 10_000; i++)
        {
            state.Apply(new RequestCompletedEvent(
                _time.GetUtcNow(), new RequestSummary("GET", $"/{i}", 200, TimeSpan.Zero, 0, 0)));
            state.Apply(new BackendSurplusEvent(_time.GetUtcNow(), _upstream, $"{i}"));
        }

        Assert.True(state.Apply(new LinesDroppedEvent(_time.GetUtcNow(), 7)));
        Assert.Equal(10_007, state.Requests);
        Assert.Equal(7, state.NotShown);
        Assert.Equal(AgentScreenState.MostRequests, state.Last.Count);
        Assert.Equal("/9999", state.Last.Last().Path);
        Assert.Equal(2, state.Notices.Count);
        await ReadyAsync([.. Enumerable.Range(0, 1000).Select(static i => $"http://n{i}.localhost/")]);
        Assert.True(_screen.Render(80, 1000).Count < 50);
    }

    [Fact]
    public async Task Several_servers_have_a_row_each_and_one_has_the_usual_one()
    {
        var (one, two) = (new ServerEndpoint("e1.example.com", 12001), new ServerEndpoint("e2.example.com", 12001));
        await ReadyAsync();
        await TellAsync(new ServersEvent(_time.GetUtcNow(), [new(one, true, null), new(two, true, null)]));
        Assert.Contains("Servers    e1.example.com:12001\n           e2.example.com:12001\n", See().Text, StringComparison.Ordinal);
        await TellAsync(new ServersEvent(_time.GetUtcNow(), [new(one, false, "It broke.\x1b[2J"), new(two, true, null)]));
        Assert.Contains(
            "Servers    e1.example.com:12001 not connected: It broke.", See(100).Text, StringComparison.Ordinal);
        await TellAsync(new ConnectionEndedEvent(_time.GetUtcNow(), ConnectionEnd.Lost("All broke.", TimeSpan.FromSeconds(1))));
        Assert.Contains("\nServer     ", See(100).Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_event_without_a_place_of_its_own_is_a_notice()
    {
        await ReadyAsync();
        await TellAsync(new RequestsFailedEvent(_time.GetUtcNow(), "backend", "connection refused", 7, TimeSpan.FromSeconds(10)));
        Assert.Contains(
            "Notice     12:00:00 Requests failed: backend: connection refused, 7 times in 10 s", See(100).Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Requests_that_were_too_many_are_counted_and_said()
    {
        await ReadyAsync();
        await RequestAsync("/", 200);
        await TellAsync(new LinesDroppedEvent(_time.GetUtcNow(), 1234));
        Assert.Contains("Requests   1,235, 0.0 a second, 1,234 not listed", See().Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_QR_code_of_the_first_URL_fits_80_by_24_and_any_key_goes_back()
    {
        await ReadyAsync("https://a-name-of-some-length.tunnel.example.com/");
        Press('q');
        VirtualTerminal seen = See();
        Assert.Equal("https://a-name-of-some-length.tunnel.example.com", seen.Row(1));
        Assert.Contains('▀', seen.Text);
        Press('x');
        Assert.StartsWith("Status", See().Row(1), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_terminal_that_is_too_small_for_the_code_says_so()
    {
        await ReadyAsync();
        Press('q');
        Assert.Equal("The terminal is too small for its QR code.", See(80, 8).Row(2));
        Assert.StartsWith("The terminal is too", See(20, 24).Row(2), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Help_lists_the_keys_and_fits_80_by_24()
    {
        await ReadyAsync();
        Press('?');
        VirtualTerminal seen = See();
        Assert.Contains("Ctrl+C   finishes the requests under way", seen.Text, StringComparison.Ordinal);
        Assert.All(_screen.Render(80, 24), static row => Assert.True(row.Width <= 80, row.ToString()));
        Press('?');
        Assert.StartsWith("Status", See().Row(1), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(20, 5)]
    [InlineData(1, 1)]
    [InlineData(40, 10)]
    [InlineData(500, 3)]
    public async Task Any_size_is_drawn_and_what_matters_most_comes_first(int columns, int rows)
    {
        await ReadyAsync();
        for (int i = 0; i < 300; i++)
        {
            await RequestAsync($"/{i}", 200);
        }

        VirtualTerminal seen = See(columns, rows);
        Assert.StartsWith(columns > 1 ? "tunnel2" : "…", seen.Row(0), StringComparison.Ordinal);
        if (rows >= 3)
        {
            Assert.StartsWith("Forwarding http", seen.Row(2), StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task After_the_screen_the_last_lines_say_where_it_was_and_why_it_ended()
    {
        await ReadyAsync();
        await RequestAsync("/", 200);
        await RequestAsync("/", 503);
        await TellAsync(new ConnectionEndedEvent(_time.GetUtcNow(), ConnectionEnd.Superseded(TimeSpan.FromSeconds(1))));
        Assert.Equal(
            [
                "Forwarding http://web.localhost:12000 -> http://127.0.0.1:3000",
                "Another agent with the same identity took the name over.",
                "2 requests, 1 failed",
            ],
            _screen.Summary());
    }

    [Fact]
    public async Task Where_the_screen_is_gone_events_become_lines()
    {
        _screen.IsShown = static () => false;
        using var output = new StringWriter { NewLine = "\n" };
        await _screen.WriteAsync(new DrainingEvent(_time.GetUtcNow()), output, CancellationToken.None);
        Assert.Equal("Draining: finishing the requests under way\n", output.ToString());
    }
}
