using System.Collections.Concurrent;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Reloading;
using Tunnel2.Client.Tests.Console;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Reloading;

/// <summary><c>tunnel2 start</c> with a file that changes; the tunnels are pretended.</summary>
public sealed class ReloadTests : IDisposable
{
    private const string One = "tunnels:\n- name: web\n  upstream: 3000\n";
    private const string Both = One + "- name: api\n  upstream: 3001\n";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");
    private readonly ManualTimeProvider _time = new();
    private readonly StringWriter _output = new() { NewLine = "\n" };
    private readonly StringWriter _error = new() { NewLine = "\n" };
    private readonly CancellationTokenSource _stop = new();
    private readonly AsyncCounter _started = new("started");
    private readonly AsyncCounter _ended = new("ended");
    private readonly ConcurrentQueue<string> _log = new();
    private Action? _leaving;
    private DateTime _written = new(2026, 1, 1, 0, 0, 0, DateTimeKind.Utc);

    private string File => Path.Combine(_folder.FullName, "tunnels.yml");

    public void Dispose()
    {
        _stop.Dispose();
        _output.Dispose();
        _error.Dispose();
        _folder.Delete(recursive: true);
    }

    [Fact]
    public async Task Tunnels_come_change_and_go_without_touching_the_others()
    {
        Write(One);
        Task<int> running = Start();
        await _started.WaitForAsync(1);

        Write(Both);
        await LookAgainAsync();
        await _started.WaitForAsync(2);

        Write(Both.Replace("3001", "3002", StringComparison.Ordinal));
        await LookAgainAsync();
        await _started.WaitForAsync(3);
        await _ended.WaitForAsync(1);

        Write(One);
        await LookAgainAsync();
        await _ended.WaitForAsync(2);

        await _stop.CancelAsync();
        Assert.Equal(0, await running);
        Assert.Equal(
            ["+api 3001", "+api 3002", "+web 3000", "-api 3001", "-api 3002", "-web 3000"], _log.Order(StringComparer.Ordinal));
        Assert.Contains("has changed: added api\n", _output.ToString(), StringComparison.Ordinal);
        Assert.Contains("has changed: changed api\n", _output.ToString(), StringComparison.Ordinal);
        Assert.Contains("has changed: removed api\n", _output.ToString(), StringComparison.Ordinal);
        Assert.Contains("[api] Stopped\n", _output.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_tunnel_that_changes_begins_again_after_the_one_before_has_begun_to_leave()
    {
        Write(Both);
        Task<int> running = Start();
        await _started.WaitForAsync(2);
        using var mayLeave = new ManualResetEventSlim();
        _leaving = () => mayLeave.Wait(TestContext.Current.CancellationToken);

        Write(Both.Replace("3001", "3002", StringComparison.Ordinal));
        await LookAgainAsync();
        Assert.DoesNotContain("+api 3002", _log);

        mayLeave.Set();
        await _started.WaitForAsync(3);
        await _stop.CancelAsync();
        Assert.Equal(0, await running);
    }

    [Fact]
    public async Task A_file_that_is_still_being_written_is_left_alone()
    {
        Write(One);
        Task<int> running = Start();
        await _started.WaitForAsync(1);
        await LookAgainAsync();

        // It grows from each look to the next.
        foreach (string part in new[] { "tunnels:\n- name: api\n", "tunnels:\n- name: api\n  upstream: 3001\n", Both })
        {
            Write(part);
            await LookAsync();
        }

        await LookAsync();
        await _started.WaitForAsync(2);
        await _stop.CancelAsync();
        Assert.Equal(0, await running);
        Assert.Equal(["+web 3000", "+api 3001"], _log.Where(static line => line[0] == '+'));
        Assert.DoesNotContain("mistakes", _output.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("tunnels:\n- name: web\n  upstream: 70000\n", ":3: upstream: '70000' is not a port")]
    [InlineData("tunnels:\n- name: web\n  upstr", "is not YAML")]
    [InlineData("tunnels:\n- {name: web, upstream: 3000\n- {name: api, upstream: 3001}\n", "is not YAML")]
    [InlineData("", "is empty")]
    [InlineData(null, "cannot be read")]
    public async Task A_file_with_mistakes_changes_nothing_and_is_said_once(string? text, string mistake)
    {
        Write(Both);
        Task<int> running = Start();
        await _started.WaitForAsync(2);
        await LookAgainAsync();

        for (int i = 0; i < 3; i++)
        {
            Write(text);
            await LookAgainAsync();
        }

        Write(Both + "- name: db\n  upstream: 3002\n");
        await LookAgainAsync();
        await _started.WaitForAsync(3);
        await _stop.CancelAsync();
        Assert.Equal(0, await running);

        string[] refusals =
            [.. _output.ToString().Split('\n').Where(static line => line.Contains("stay as they are", StringComparison.Ordinal))];
        Assert.Contains(mistake, Assert.Single(refusals), StringComparison.Ordinal);
        Assert.Equal(3, _log.Count(static line => line[0] == '+'));
    }

    /// <summary>As Kubernetes does it; where all files have one time, as in a store of packages, only the place is another.</summary>
    [Fact]
    public async Task A_folder_of_links_that_is_exchanged_is_seen_though_the_file_is_as_old_and_as_long()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Has links, and a program that exchanges one.");
        string In(string name) => Path.Combine(_folder.FullName, name);
        foreach (string version in new[] { "v1", "v2" })
        {
            Directory.CreateDirectory(In(version));
            string text = version == "v1" ? Both : Both.Replace("3001", "3002", StringComparison.Ordinal);
            await System.IO.File.WriteAllTextAsync(In($"{version}/tunnels.yml"), text, TestContext.Current.CancellationToken);
            System.IO.File.SetLastWriteTimeUtc(In($"{version}/tunnels.yml"), DateTime.UnixEpoch);
        }

        Directory.CreateSymbolicLink(In("data"), "v1");
        System.IO.File.CreateSymbolicLink(File, "data/tunnels.yml");
        Task<int> running = Start();
        await _started.WaitForAsync(2);
        await LookAgainAsync();

        Directory.CreateSymbolicLink(In("next"), "v2");
        using (var move = System.Diagnostics.Process.Start("mv", ["-T", In("next"), In("data")]))
        {
            await move.WaitForExitAsync(TestContext.Current.CancellationToken);
        }

        await LookAgainAsync();
        await _started.WaitForAsync(3);
        await _stop.CancelAsync();
        Assert.Equal(0, await running);
        Assert.Contains("+api 3002", _log);
    }

    [Fact]
    public async Task A_stop_does_not_wait_for_a_pipe_that_no_program_writes_to()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Makes a pipe.");
        using (var make = System.Diagnostics.Process.Start("mkfifo", [File]))
        {
            await make.WaitForExitAsync(TestContext.Current.CancellationToken);
        }

        Task<int> running = Start();
        await _stop.CancelAsync();
        Assert.Equal(0, await running.WaitAsync(AsyncCounter.DefaultTimeout, TestContext.Current.CancellationToken));

        // Lets the reading thread go.
        await using var writer = new FileStream(File, FileMode.Open, FileAccess.ReadWrite);
        await writer.WriteAsync("x"u8.ToArray(), TestContext.Current.CancellationToken);
    }

    [Fact]
    public async Task A_setting_of_the_process_is_said_to_count_at_the_next_start()
    {
        Write(One);
        Task<int> running = Start();
        await _started.WaitForAsync(1);
        Write("loops: 3\n" + Both);
        await LookAgainAsync();
        await _started.WaitForAsync(2);
        await _stop.CancelAsync();
        Assert.Equal(0, await running);
        Assert.Contains("added api; loops will count at the next start\n", _output.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_thousand_tunnels_that_a_change_adds_lose_no_line_to_a_slow_output()
    {
        const int Tunnels = 1000;
        using var output = new StuckWriter { NewLine = "\n" };
        Write(One);
        Task<int> running = Start(output);
        await _started.WaitForAsync(1);
        await output.Reached.WaitAsync(AsyncCounter.DefaultTimeout, TestContext.Current.CancellationToken);

        Write(One + string.Concat(Enumerable.Range(0, Tunnels).Select(static i => $"- name: many-{i}\n  upstream: 3000\n")));
        await LookAgainAsync();
        await _started.WaitForAsync(Tunnels + 1);
        await _stop.CancelAsync();
        output.Open();
        Assert.Equal(0, await running);
        string[] lines = output.ToString().Split('\n');
        string[] many = [.. lines.Where(static line => line.StartsWith("[many-", StringComparison.Ordinal))];
        Assert.Equal(Tunnels, many.Count(static line => line.Contains("] Connecting to ", StringComparison.Ordinal)));
        Assert.Equal(Tunnels, many.Count(static line => line.EndsWith("] Stopped", StringComparison.Ordinal)));
    }

    [Fact]
    public async Task The_program_ends_with_its_last_tunnel_also_when_a_file_is_watched()
    {
        Write(Both);
        int code = await AgentCli.RunAsync(
            ["start", "--config", File], static _ => null, static _ => new Runner(static (options, _, _) =>
                Task.FromResult(options.Name == "web" ? 3 : 0)),
            _output, _error, _stop.Token, _time);
        Assert.Equal(3, code);
    }

    /// <summary>Writes the file, each time with a later time; null: removes it.</summary>
    private void Write(string? text)
    {
        if (text is null)
        {
            System.IO.File.Delete(File);
            return;
        }

        System.IO.File.WriteAllText(File, text);
        _written = _written.AddSeconds(1);
        System.IO.File.SetLastWriteTimeUtc(File, _written);
    }

    /// <summary>Two looks that see the same.</summary>
    private async Task LookAgainAsync()
    {
        await LookAsync();
        await LookAsync();
    }

    /// <summary>One look, to its end: then the wait for the next one has begun.</summary>
    private async Task LookAsync()
    {
        await _time.ArmedTimers.WaitForAsync(1);
        long before = _time.TimersSet.Value;
        _time.Advance(TunnelFileWatch.Interval);
        await _time.TimersSet.WaitForAsync(before + 1);
    }

    private Task<int> Start(TextWriter? output = null) => AgentCli.RunAsync(
        ["start", "--config", File],
        static _ => null,
        _ => new Runner(async (options, events, stop) =>
        {
            _log.Enqueue($"+{options.Name} {options.Upstream.Port}");
            events.Connecting(options.Server);
            var left = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            await using CancellationTokenRegistration registration = stop.Register(() =>
            {
                _leaving?.Invoke();
                left.SetResult();
            });
            _started.Increment();
            await left.Task;
            _log.Enqueue($"-{options.Name} {options.Upstream.Port}");
            events.Stopped();
            _ended.Increment();
            return 0;
        }),
        output ?? _output, _error, _stop.Token, _time);

    private sealed class Runner(Func<AgentOptions, IAgentEvents, CancellationToken, Task<int>> run) : IAgentRunner
    {
        public Task<int> RunAsync(AgentOptions options, IAgentEvents events, CancellationToken stop) => run(options, events, stop);
    }
}
