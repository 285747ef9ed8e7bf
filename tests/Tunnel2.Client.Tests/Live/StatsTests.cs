using System.IO.Pipes;
using System.Text;
using System.Text.Json;
using Tunnel2.Client.Live;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Records;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Live;

public sealed class StatsTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-stats-").FullName;
    private readonly WatchedWriter _output = new();
    private readonly WatchedWriter _error = new();
    private readonly string _file;

    public StatsTests()
    {
        _file = Path.Combine(_folder, "a.rec");
        using RecordingWriter recording = RecordingWriter.Create(_file);
        var random = new Random(3);
        Span<byte> payload = stackalloc byte[240];
        for (int i = 0; i < 40_000; i++)
        {
            int length = RequestRecordCodec.Encode(payload, new RequestRecord
            {
                SessionName = Encoding.ASCII.GetBytes($"web-{random.Next(50)}"),
                Target = "/items?page=2"u8,
                StartedUnixMicroseconds = 1_700_000_000_000_000 + (i * 10_000L),
                TotalMicroseconds = (uint)random.Next(1_000_000),
                BytesOut = (ulong)random.Next(1000),
                Status = (ushort)(random.Next(10) == 0 ? 503 : 200),
            });
            recording.Add(i, (ushort)RecordType.Request, payload[..length]);
        }
    }

    public void Dispose()
    {
        _output.Dispose();
        _error.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    [Theory]
    [InlineData("auto")]
    [InlineData("2")]
    [InlineData("64")]
    public async Task Partitions_change_nothing_in_what_is_printed(string partitions)
    {
        using var alone = new WatchedWriter();
        Assert.Equal(0, await TapCommand.RunAsync(["stats", _file, "--partitions", "1"], alone, _error, CancellationToken.None));
        Assert.Equal(0, await TapCommand.RunAsync(["stats", _file, "--partitions", partitions], _output, _error, CancellationToken.None));
        Assert.Equal(alone.Text, _output.Text);
        Assert.Equal(102, _output.Lines.Length); // The heading, a line and an error for each of 50 sessions, and what is not in them.
        Assert.Empty(_error.Text);
    }

    [Theory]
    [InlineData("1")]
    [InlineData("2")]
    public async Task Stopped_before_the_end_it_prints_what_it_has_and_says_of_how_much(string partitions)
    {
        using var stop = new CancellationTokenSource();
        await stop.CancelAsync();
        string[] args = ["stats", _file, "--partitions", partitions];
        string expected = $"stopped at byte 16 of {new FileInfo(_file).Length} (0 %)";
        Assert.Equal(1, await TapCommand.RunAsync(args, _output, _error, stop.Token));
        Assert.Equal("0 missed, 0 late, 0 unreadable", _output.Lines[^2]);
        Assert.Equal($"partial: {expected}", _output.Lines[^1]);
        Assert.Equal($"tunnel2: {expected}: these are the statistics of what was read until then", Assert.Single(_error.Lines));

        using var json = new WatchedWriter();
        Assert.Equal(1, await TapCommand.RunAsync([.. args, "--json"], json, _error, stop.Token));
        JsonElement result = JsonDocument.Parse(json.Text).RootElement;
        Assert.Equal(expected, result.GetProperty("partial").GetString());
        Assert.Equal(0, result.GetProperty("sessions").GetArrayLength());
    }

    /// <summary>A clock that was set, or those of several nodes: an hour forward and back again.</summary>
    [Theory]
    [InlineData("1")]
    [InlineData("2")]
    public async Task Every_request_counts_with_any_clock(string partitions)
    {
        string file = Path.Combine(_folder, "clocks.rec");
        using (RecordingWriter recording = RecordingWriter.Create(file))
        {
            byte[] payload = new byte[240];
            for (int i = 0; i < 300; i++)
            {
                int length = RequestRecordCodec.Encode(payload, new RequestRecord
                {
                    SessionName = "web"u8,
                    StartedUnixMicroseconds = 1_700_000_000_000_000 + (i is >= 100 and < 200 ? 3_600_000_000 : 0),
                    Status = 200,
                });
                recording.Add(i, (ushort)RecordType.Request, payload.AsSpan(0, length));
            }
        }

        string[] args = ["stats", file, "--json", "--partitions", partitions];
        Assert.Equal(0, await TapCommand.RunAsync(args, _output, _error, CancellationToken.None));
        JsonElement result = JsonDocument.Parse(_output.Text).RootElement;
        Assert.Equal(300, result.GetProperty("sessions")[0].GetProperty("requests").GetInt64());
        Assert.Equal(0, result.GetProperty("late").GetInt64());
    }

    /// <summary>As a shell gives one: <c>tunnel2 stats &lt;(zcat requests.gz)</c>.</summary>
    [Fact]
    public async Task A_recording_may_come_from_a_pipe()
    {
        Assert.Equal(0, await TapCommand.RunAsync(["stats", _file], _output, _error, CancellationToken.None));
        using var writer = new AnonymousPipeServerStream(PipeDirection.Out);
        string path = $"/proc/self/fd/{writer.ClientSafePipeHandle.DangerousGetHandle()}";
        using var piped = new WatchedWriter();
        Task<int> run = Task.Run(() => TapCommand.RunAsync(["stats", path], piped, _error, CancellationToken.None));
        Task write = Task.Run(() =>
        {
            writer.Write(File.ReadAllBytes(_file));
            writer.Dispose();
        });
        Assert.Equal(0, await run);
        await write;
        Assert.Equal(_output.Text, piped.Text);
    }

    [Fact]
    public async Task A_whole_result_does_not_say_that_it_is_partial()
    {
        Assert.Equal(0, await TapCommand.RunAsync(["stats", _file, "--json"], _output, _error, CancellationToken.None));
        Assert.False(JsonDocument.Parse(_output.Text).RootElement.TryGetProperty("partial", out _));
    }

    [Fact]
    public async Task Names_of_a_recording_do_not_steer_the_terminal()
    {
        string file = Path.Combine(_folder, "strange.rec");
        using (RecordingWriter recording = RecordingWriter.Create(file))
        {
            byte[] payload = new byte[240];
            var record = new RequestRecord { SessionName = "a\x1b[2J\n"u8, StartedUnixMicroseconds = 1_700_000_000_000_000, Status = 200 };
            recording.Add(0, (ushort)RecordType.Request, payload.AsSpan(0, RequestRecordCodec.Encode(payload, record)));
        }

        Assert.Equal(0, await TapCommand.RunAsync(["stats", file], _output, _error, CancellationToken.None));
        Assert.StartsWith("a?[2J? ", _output.Lines[1], StringComparison.Ordinal);
        Assert.Equal(3, _output.Lines.Length);
    }

    [Theory]
    [InlineData("stats", "/")]
    [InlineData("tap", "--replay", "/")]
    public async Task A_folder_in_the_place_of_a_recording_is_called_one(params string[] args)
    {
        Assert.Equal(1, await TapCommand.RunAsync(args, _output, _error, CancellationToken.None));
        Assert.Contains("/: cannot be read: it is a folder, not a file", _error.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_requests_of_a_ring_are_routed_to_partitions_with_the_same_result()
    {
        using var ring = new LiveRing();
        for (int i = 0; i < 900; i++)
        {
            ring.Publish($"web-{i % 40}", "/", i % 7 == 0 ? 503 : 200, i);
        }

        using var alone = new WatchedWriter();
        Assert.Equal(0, await TapCommand.RunAsync(["stats", ring.Ring.Path], alone, _error, CancellationToken.None));
        Assert.Equal(
            0, await TapCommand.RunAsync(["stats", ring.Ring.Path, "--partitions", "3"], _output, _error, CancellationToken.None));
        Assert.Equal(alone.Text, _output.Text);
        Assert.Equal(82, _output.Lines.Length); // The heading, a line and an error for each of 40 sessions, and what is not in them.
    }

    [Fact]
    public async Task A_ring_that_is_not_read_to_its_end_says_so()
    {
        using var ring = new LiveRing();
        ring.Publish("web", "/", 200, 1);
        ring.Publish("web", "/", 200, 1);
        using var stop = new CancellationTokenSource();
        await stop.CancelAsync();
        Assert.Equal(1, await TapCommand.RunAsync(["stats", ring.Ring.Path], _output, _error, stop.Token));
        Assert.Equal("partial: stopped 2 records before the end of the ring", _output.Lines[^1]);
    }

    [Fact]
    public void On_a_terminal_a_bar_grows_and_is_gone_at_the_end()
    {
        var time = new ManualTimeProvider();
        long read = 0;
        var bar = new ProgressBar(_error, isTerminal: true, time);
        bar.Start(() => read, 40_000_000);
        Assert.Empty(_error.Text);
        read = 10_000_000;
        time.Advance(TimeSpan.FromMilliseconds(200));
        Assert.Equal("\r[######..................]  25 %  10 of 40 MB  50 MB/s\x1b[K", _error.Text);
        read = 41_000_000;
        time.Advance(TimeSpan.FromMilliseconds(200));
        Assert.EndsWith("\r[########################] 100 %  41 of 40 MB  102 MB/s\x1b[K", _error.Text, StringComparison.Ordinal);
        bar.End();
        Assert.EndsWith("\x1b[K\r\x1b[K", _error.Text, StringComparison.Ordinal);
        string text = _error.Text;
        time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(text, _error.Text);
    }

    [Fact]
    public void Without_a_terminal_or_without_time_for_it_there_is_no_bar()
    {
        var time = new ManualTimeProvider();
        var bar = new ProgressBar(_error, isTerminal: false, time);
        bar.Start(static () => 1, 10);
        time.Advance(TimeSpan.FromSeconds(1));
        bar.End();
        bar = new ProgressBar(_error, isTerminal: true, time);
        bar.Start(static () => 1, 10);
        bar.End();
        Assert.Empty(_error.Text);
    }
}
