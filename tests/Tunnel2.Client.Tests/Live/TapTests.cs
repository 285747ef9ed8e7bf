using System.Diagnostics.Metrics;
using System.Text.Json;
using Tunnel2.Client.Live;
using Tunnel2.Telemetry.Relay;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Live;

public sealed class TapTests : IDisposable
{
    private readonly LiveRing _ring = new();
    private readonly WatchedWriter _output = new();
    private readonly WatchedWriter _error = new();
    private readonly CancellationTokenSource _stop = new();

    public void Dispose()
    {
        _stop.Dispose();
        _output.Dispose();
        _error.Dispose();
        _ring.Dispose();
    }

    private Task<int> RunAsync(params string[] args) =>
        Task.Factory.StartNew(
            () => TapCommand.RunAsync(args, _output, _error, _stop.Token),
            TestContext.Current.CancellationToken,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default).Unwrap();

    private async Task<int> RunUntilAsync(Func<string, bool> condition, params string[] args)
    {
        Task<int> running = RunAsync(args);
        await _output.WhenAsync(condition);
        await _stop.CancelAsync();
        return await running.WaitAsync(AsyncCounter.DefaultTimeout);
    }

    private static JsonElement Parse(string line) => JsonDocument.Parse(line).RootElement;

    [Fact]
    public async Task A_ring_is_followed_one_line_per_request_and_the_last_line_says_how_many()
    {
        _ring.Publish("web", "/a?b=c", 200, 3);
        _ring.Publish("api", "/slow", 502, 12_000, error: 45);
        Assert.Equal(
            0,
            await RunUntilAsync(
                static text => text.Contains("/slow", StringComparison.Ordinal), "tap", "--ring", _ring.Ring.Path, "--from-oldest"));
        Assert.EndsWith(" web GET /a?b=c 200 3.00ms in 1 out 20", _output.Lines[0], StringComparison.Ordinal);
        Assert.EndsWith(" api GET /slow 502 12.0s in 1 out 20 backend-closed", _output.Lines[1], StringComparison.Ordinal);
        Assert.Equal("-- 2 seen, 2 shown, 0 missed --", _output.Lines[2]);
        Assert.Contains("following", _error.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Without_from_oldest_only_what_comes_is_shown()
    {
        _ring.Publish("web", "/before", 200, 1);
        Task<int> running = RunAsync("tap", "--ring", _ring.Ring.Path, "--json");
        await _error.WhenAsync(static text => text.Contains("following", StringComparison.Ordinal));
        // The reader attaches after it said so: published until one is seen.
        while (!_output.Text.Contains("/after", StringComparison.Ordinal))
        {
            _ring.Publish("web", "/after", 200, 1);
            await Task.Yield();
        }

        await _stop.CancelAsync();
        Assert.Equal(0, await running);
        Assert.DoesNotContain("/before", _output.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Filters_hide_what_is_not_wanted_and_it_still_counts_as_seen()
    {
        _ring.Publish("web", "/1", 500, 300);
        _ring.Publish("web", "/2", 500, 100);
        _ring.Publish("web", "/3", 200, 300);
        _ring.Publish("api", "/4", 500, 300);
        _ring.Publish("web", "/5", 599, 200);
        await RunUntilAsync(
            static text => text.Contains("/5", StringComparison.Ordinal),
            "tap", "--ring", _ring.Ring.Path, "--from-oldest", "--json", "--name", "web", "--status", "5xx", "--min-duration", "200ms");
        Assert.Equal(["/1", "/5"], _output.Lines[..^1].Select(static line => Parse(line).GetProperty("target").GetString()));
        Assert.Equal("""{"type":"end","seen":5,"shown":2,"missed":0,"unreadable":0,"replaced":0}""", _output.Lines[^1]);
    }

    [Fact]
    public async Task A_tap_that_is_held_up_says_exactly_how_many_it_missed()
    {
        const int Published = 5000;
        _output.Close(true);
        _ring.Publish("web", "/0", 200, 1);
        Task<int> running = RunAsync("tap", "--ring", _ring.Ring.Path, "--from-oldest", "--json");

        // It has read the one record that there is: all that is published from here on, it reads when it may continue.
        await _output.Held.WaitAsync();
        for (int i = 1; i < Published - 1; i++)
        {
            _ring.Publish("web", $"/{i}", 200, 1);
        }

        _output.Close(false);
        await _output.WhenAsync(static text => text.Contains("\"gap\"", StringComparison.Ordinal));
        _ring.Publish("web", "/last", 200, 1);
        await _output.WhenAsync(static text => text.Contains("/last", StringComparison.Ordinal));
        await _stop.CancelAsync();
        await running;
        JsonElement end = Parse(_output.Lines[^1]);
        long missed = end.GetProperty("missed").GetInt64();
        Assert.InRange(missed, Published - 1024 - 512, Published);
        Assert.Equal(
            Published,
            missed
                + end.GetProperty("seen").GetInt64()
                + Parse(_output.Lines[0])
                    .GetProperty(_output.Lines[0].Contains("\"gap\"", StringComparison.Ordinal) ? "first" : "sequence")
                    .GetInt64());
        Assert.Equal(
            missed,
            _output.Lines.Where(
                static line =>
                    line.Contains("\"gap\"", StringComparison.Ordinal)).Sum(static line => Parse(line).GetProperty("count").GetInt64()));
    }

    [Fact]
    public async Task What_was_recorded_is_shown_again_and_counted_the_same()
    {
        for (int i = 0; i < 300; i++)
        {
            _ring.Publish(i % 3 == 0 ? "api" : "web", $"/{i}", i % 10 == 0 ? 503 : 200, i);
        }

        string file = _ring.FilePath("a.rec");
        Assert.Equal(
            0,
            await RunUntilAsync(
                static text => text.Contains("/299", StringComparison.Ordinal),
                "tap",
                "--ring",
                _ring.Ring.Path,
                "--from-oldest",
                "--record",
                file));
        string live = _output.Text;

        using var replayed = new WatchedWriter();
        Assert.Equal(0, await TapCommand.RunAsync(["tap", "--replay", file], replayed, _error, CancellationToken.None));
        Assert.Equal(live, replayed.Text);

        using var counted = new WatchedWriter();
        Assert.Equal(0, await TapCommand.RunAsync(["stats", file, "--json"], counted, _error, CancellationToken.None));
        JsonElement[] sessions = [.. Parse(counted.Text).GetProperty("sessions").EnumerateArray()];
        Assert.Equal(["api", "web"], sessions.Select(static one => one.GetProperty("session").GetString()).Order(StringComparer.Ordinal));
        Assert.Equal(300, sessions.Sum(static one => one.GetProperty("requests").GetInt64()));
        Assert.Equal(30, sessions.Sum(static one => one.GetProperty("errorsByCode").GetProperty("backend-5xx").GetInt64()));
    }

    [Fact]
    public async Task Statistics_of_a_rings_file_are_those_of_a_recording_of_it()
    {
        for (int i = 0; i < 100; i++)
        {
            _ring.Publish("web", "/", 200, i + 1);
        }

        Assert.Equal(0, await TapCommand.RunAsync(["stats", _ring.Ring.Path], _output, _error, CancellationToken.None));
        Assert.Matches("^web +100 +0 +100 +2000 +5[0-9]\\.[0-9]{2} +9[0-9]\\.[0-9]{2} +(9[0-9]|10[0-9])\\.[0-9]{2}$", _output.Lines[1]);
        Assert.Equal("0 missed, 0 late, 0 unreadable", _output.Lines[^1]);
    }

    [Fact]
    public async Task A_relay_is_followed_like_a_ring_and_a_new_one_in_its_place_too()
    {
        using var meter = new Meter("test");
        var options = new RelayServerOptions();
        var relay = new EventRelayServer(_ring.Ring, options, meter);
        _ring.Publish("web", "/first", 200, 1);
        Task<int> running = RunAsync("tap", "--host", relay.LocalEndPoint.ToString(), "--from-oldest", "--json");
        await _output.WhenAsync(static text => text.Contains("/first", StringComparison.Ordinal));
        await relay.DisposeAsync();
        await _error.WhenAsync(static text => text.Contains("trying again", StringComparison.Ordinal));
        _ring.Publish("web", "/meanwhile", 200, 1);
        await using var next = new EventRelayServer(_ring.Ring, options with { Listen = relay.LocalEndPoint }, meter);
        await _output.WhenAsync(static text => text.Contains("/meanwhile", StringComparison.Ordinal));
        await _stop.CancelAsync();
        Assert.Equal(0, await running);
        Assert.Equal("""{"type":"end","seen":2,"shown":2,"missed":0,"unreadable":0,"replaced":0}""", _output.Lines[^1]);
    }

    [Theory]
    [InlineData("tap --replay {text}", 1, "not a recording")]
    [InlineData("tap --replay {missing}", 1, "missing")]
    [InlineData("tap --ring {missing}", 4, "there is no such file")]
    [InlineData("tap --ring {text}", 4, "not an event ring")]
    [InlineData("tap --ring {version}", 4, "an event ring of another version")]
    [InlineData("tap --ring {short}", 4, "the file is shorter than its header says")]
    [InlineData("tap --ring {damaged}", 4, "the ring's header is damaged")]
    [InlineData("stats {short}", 1, "the file is shorter than its header says")]
    [InlineData("stats {text}", 1, "not a recording")]
    [InlineData("tap --replay {cut}", 1, "the recording ends within a frame")]
    [InlineData("stats {cut}", 1, "the recording ends within a frame")]
    [InlineData("tap --replay {flipped}", 1, "the recording is damaged at byte 16")]
    [InlineData("tap --replay {flipped} --record {text}", 1, "text")]
    public async Task A_file_that_is_wrong_is_refused_with_what_is_wrong(string line, int exitCode, string message)
    {
        _ring.Publish("web", "/", 200, 1);
        byte[] ring = File.ReadAllBytes(_ring.Ring.Path);
        File.WriteAllText(_ring.FilePath("text"), "GET / HTTP/1.1, and more, so that it is longer than any header is\n");
        File.WriteAllBytes(_ring.FilePath("short"), ring[..^1]);
        byte[] version = [.. ring];
        version[8] = 9;
        File.WriteAllBytes(_ring.FilePath("version"), version);
        byte[] damaged = [.. ring];
        damaged[16] ^= 1;
        File.WriteAllBytes(_ring.FilePath("damaged"), damaged);
        string recording = _ring.FilePath("whole");
        await RunUntilAsync(
            static text => text.Contains("web", StringComparison.Ordinal),
            "tap",
            "--ring",
            _ring.Ring.Path,
            "--from-oldest",
            "--record",
            recording);
        byte[] whole = File.ReadAllBytes(recording);
        File.WriteAllBytes(_ring.FilePath("cut"), whole[..^1]);
        whole[^1] ^= 1;
        File.WriteAllBytes(_ring.FilePath("flipped"), whole);
        string[] args = [.. line.Split(' ').Select(word => word.StartsWith('{') ? _ring.FilePath(word.Trim('{', '}')) : word)];
        using var error = new WatchedWriter();
        Assert.Equal(exitCode, await TapCommand.RunAsync(args, _output, error, CancellationToken.None));
        Assert.Contains(message, error.Text, StringComparison.Ordinal);
        Assert.Single(error.Lines);
    }

    [Theory]
    [InlineData("tap --status 6000", "--status")]
    [InlineData("tap --min-duration soon", "--min-duration")]
    [InlineData("tap --name a*b", "--name")]
    [InlineData("tap --ring a --replay b", "only one of them")]
    [InlineData("tap --host a:b", "--host")]
    [InlineData("tap --record", "lacks its value")]
    [InlineData("tap --colour", "unknown flag")]
    [InlineData("tap web", "not understood")]
    [InlineData("stats", "say which")]
    [InlineData("tap --status 6xx", "--status")]
    [InlineData("tap --name a --name b", "--name: is given more than once")]
    [InlineData("tap --partitions 2", "unknown flag")]
    [InlineData("stats a --partitions", "--partitions: lacks its value")]
    [InlineData("stats a --partitions 0", "--partitions: '0' is neither auto nor a number from 1 to 64")]
    [InlineData("stats a --partitions 65", "--partitions: '65' is neither")]
    [InlineData("stats a --partitions -1", "--partitions")]
    [InlineData("stats a --partitions two", "--partitions: 'two' is neither")]
    [InlineData("stats a --partitions 2 --partitions 3", "--partitions: is given more than once")]
    public async Task A_wrong_command_line_is_reported_with_the_usage(string line, string message)
    {
        Assert.Equal(2, await TapCommand.RunAsync(line.Split(' '), _output, _error, CancellationToken.None));
        Assert.Contains(message, _error.Text, StringComparison.Ordinal);
        Assert.Contains($"Usage: tunnel2 {line.Split(' ')[0]} ", _error.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task What_a_visitor_sent_cannot_steer_the_terminal()
    {
        _ring.Publish("web", "/\u001b[2J\r\n\u009b1m", 200, 1);
        await RunUntilAsync(
            static text => text.Contains("web", StringComparison.Ordinal), "tap", "--ring", _ring.Ring.Path, "--from-oldest");
        Assert.DoesNotContain(_output.Text, static c => char.IsControl(c) && c != '\n');
        Assert.Equal(2, _output.Lines.Length);
    }
}
