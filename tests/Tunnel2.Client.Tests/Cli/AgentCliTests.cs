using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Cli;

public sealed class AgentCliTests : IDisposable
{
    /// <summary>A stopped clock: how long the last lines may take is no matter here.</summary>
    private readonly ManualTimeProvider _time = new();
    private readonly StringWriter _output = new() { NewLine = "\n" };
    private readonly StringWriter _error = new() { NewLine = "\n" };

    private sealed class FakeRunner(Func<AgentOptions, IAgentEvents, CancellationToken, Task<int>> run) : IAgentRunner
    {
        public Task<int> RunAsync(AgentOptions options, IAgentEvents events, CancellationToken stop) => run(options, events, stop);
    }

    public void Dispose()
    {
        _output.Dispose();
        _error.Dispose();
    }

    private Task<int> RunAsync(
        string line,
        Func<AgentOptions, IAgentEvents, CancellationToken, Task<int>> run,
        CancellationToken stop = default) =>
        AgentCli.RunAsync(line.Split(' '), static _ => null, _ => new FakeRunner(run), _output, _error, stop, _time);

    [Theory]
    [InlineData(0)]
    [InlineData(3)]
    [InlineData(4)]
    public async Task The_agent_s_exit_code_is_the_program_s(int exitCode) =>
        Assert.Equal(exitCode, await RunAsync("http 3000", (_, _, _) => Task.FromResult(exitCode)));

    [Fact]
    public async Task Loops_that_cannot_be_started_are_reported_with_their_flag()
    {
        var exitCode = await AgentCli.RunAsync(
            ["http", "3000", "--loops", "7"],
            static _ => null,
            static loops => throw new IOException($"{loops} are too many."),
            _output,
            _error,
            CancellationToken.None);
        Assert.Equal(1, exitCode);
        Assert.Equal("tunnel2: 7 event loops cannot be started (--loops): 7 are too many.\n", _error.ToString());
    }

    [Fact]
    public async Task The_agent_gets_the_options_and_its_events_become_lines_before_the_program_ends()
    {
        AgentOptions? seen = null;
        await RunAsync("http 3000 --name web", (options, events, _) =>
        {
            seen = options;
            events.Ready(["http://127.0.0.1:12000"], options.Upstream);
            events.Stopped();
            return Task.FromResult(0);
        });

        Assert.Equal("web", seen?.Name);
        Assert.Equal("Forwarding http://127.0.0.1:12000 -> http://127.0.0.1:3000\nStopped\n", _output.ToString());
        Assert.Empty(_error.ToString());
    }

    [Fact]
    public async Task With_json_every_line_is_an_object()
    {
        await RunAsync("http 3000 --json --verbose", (options, events, _) =>
        {
            Assert.True(events.WantsRequests);
            events.Ready(["http://127.0.0.1:12000"], options.Upstream);
            events.RequestCompleted(new RequestSummary("GET", "/", 200, TimeSpan.Zero, 0, 0));
            events.Stopped();
            return Task.FromResult(0);
        });

        string[] lines = _output.ToString().Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(
            ["ready", "request", "stopped"],
            lines.Select(static line => System.Text.Json.JsonDocument.Parse(line).RootElement.GetProperty("event").GetString()));
    }

    [Fact]
    public async Task A_mistake_is_one_line_then_usage_on_the_error_output_and_2()
    {
        int exitCode = await RunAsync("http 3000 --uplinks 99", static (_, _, _) => throw new InvalidOperationException("must not run"));

        Assert.Equal(2, exitCode);
        Assert.Empty(_output.ToString());
        string[] lines = _error.ToString().Split('\n');
        Assert.Equal("tunnel2: --uplinks: '99' is not auto or a number from 1 to 16", lines[0]);
        Assert.StartsWith("Usage: tunnel2 http ", lines[1], StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("help", "tunnel2 gives a private service a public address.")]
    [InlineData("--help", "tunnel2 gives a private service a public address.")]
    [InlineData("help help", "tunnel2 gives a private service a public address.")]
    [InlineData("help http", "Usage: tunnel2 http <port")]
    [InlineData("http 3000 -h", "Usage: tunnel2 http <port")]
    [InlineData("start -?", "Usage: tunnel2 start [flags]")]
    [InlineData("help config check", "Usage: tunnel2 config check [FILE]")]
    [InlineData("help config", "Usage:\n  tunnel2 config check")]
    [InlineData("config --help", "Usage:\n  tunnel2 config check")]
    [InlineData("config show --help", "Usage: tunnel2 config show")]
    [InlineData("login -h", "Usage: tunnel2 login SERVER")]
    [InlineData("version", "tunnel2 ")]
    [InlineData("version --help", "Usage: tunnel2 version")]
    [InlineData("help tap", "Usage: tunnel2 tap ")]
    [InlineData("tap --ring x --help", "Usage: tunnel2 tap ")]
    [InlineData("stats -h", "Usage: tunnel2 stats ")]
    [InlineData("help top", "Usage: tunnel2 top ")]
    [InlineData("top --help", "Usage: tunnel2 top ")]
    [InlineData("help hash-password", "Usage: tunnel2 hash-password USER")]
    [InlineData("hash-password --help", "Usage: tunnel2 hash-password USER")]
    [InlineData("-v", "tunnel2 ")]
    [InlineData("tap -v", "tunnel2 ")]
    [InlineData("top --version", "tunnel2 ")]
    public async Task Each_command_has_a_help_of_its_own(string line, string beginning)
    {
        Assert.Equal(0, await RunAsync(line, static (_, _, _) => throw new InvalidOperationException("must not run")));

        Assert.StartsWith(beginning, _output.ToString(), StringComparison.Ordinal);
        Assert.EndsWith("\n", _output.ToString(), StringComparison.Ordinal);
        Assert.Empty(_error.ToString());
    }

    [Theory]
    [InlineData("help tunnel")]
    [InlineData("hash-passwort alice")]
    [InlineData("help http start")]
    [InlineData("tunnel")]
    [InlineData("")]
    public async Task A_mistake_about_the_command_lists_every_command(string line)
    {
        Assert.Equal(2, await RunAsync(line, static (_, _, _) => throw new InvalidOperationException("must not run")));

        Assert.Empty(_output.ToString());
        Assert.All(
            CommandTable.Words, command => Assert.Contains(command, _error.ToString(), StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("htpt 3000", "'htpt' is not a command, did you mean 'http'?")]
    [InlineData("3000", "'3000' is not a command, did you mean 'http 3000'?")]
    [InlineData("localhost:3000", "'localhost:3000' is not a command, did you mean 'http localhost:3000'?")]
    [InlineData("diagnose", "'diagnose' is not a command, did you mean 'doctor'?")]
    [InlineData("http 3000 --cidr-allow 192.0.2.1", "--cidr-allow: unknown flag, did you mean --allow-ip?")]
    [InlineData("http 3000 --verify-webhook-secret x", "--verify-webhook-secret: unknown flag, did you mean --webhook-secret-file?")]
    [InlineData("verison", "'verison' is not a command, did you mean 'version'?")]
    [InlineData("htpt --help", "'htpt' is not a command, did you mean 'http'?")]
    [InlineData(
        "authtoken secret",
        "'authtoken' is not a command here: 'tunnel2 token create' makes a token, 'tunnel2 login SERVER' stores it")]
    [InlineData("config shwo", "'config shwo' is not a command, did you mean 'config show'?")]
    [InlineData("config", "'config' needs one of these after it: check, show, edit, as in 'tunnel2 config check'")]
    [InlineData("help confgi", "'confgi' is not a command, did you mean 'config'?")]
    [InlineData("completion zhs", "'zhs' is not one of bash, zsh, fish, powershell; did you mean 'zsh'?")]
    [InlineData("completion", "say for which shell: bash, zsh, fish or powershell")]
    [InlineData("version --jsno", "--jsno: unknown flag, did you mean --json?")]
    [InlineData("http 3000 --verbsoe", "--verbsoe: unknown flag, did you mean --verbose?")]
    [InlineData("http 3000 -V", "-V: unknown flag, did you mean -v?")]
    [InlineData("http 3000 --json=true", "--json: takes no value")]
    [InlineData("version 1", "'1': not understood; this is all: tunnel2 version [flags]")]
    [InlineData("login", "say which server, as in 'tunnel2 login tunnel.example.com'")]
    [InlineData("ready --name a --name b", "--name: is given more than once")]
    public async Task What_is_wrong_names_the_nearest_right_one(string line, string mistake)
    {
        Assert.Equal(2, await AgentCli.RunAsync(
            line.Split(' '), static name => name == "HOME" ? "/nowhere" : null,
            static _ => throw new InvalidOperationException("must not run"), _output, _error, CancellationToken.None));

        Assert.Empty(_output.ToString());
        Assert.StartsWith($"tunnel2: {mistake}\nUsage: ", _error.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("config")]
    [InlineData("service")]
    [InlineData("policy")]
    [InlineData("inspect")]
    public async Task Commands_that_begin_alike_have_a_help_with_two_examples(string word)
    {
        Assert.Equal(0, await RunAsync($"{word} --help", static (_, _, _) => throw new InvalidOperationException("must not run")));
        string examples = _output.ToString().Split("Examples:\n")[1].Split("\n\n")[0];
        Assert.True(examples.Split("\n").Length >= 2, examples);
    }

    [Fact]
    public async Task Every_command_has_a_help_with_two_examples_and_its_exit_codes()
    {
        foreach (CommandSpec command in CommandTable.All.Where(static command => command.Name != "help"))
        {
            _output.GetStringBuilder().Clear();
            int code = await RunAsync(
                $"{command.Name} --help", static (_, _, _) => throw new InvalidOperationException("must not run"));
            Assert.Equal(0, code);
            string[] lines = _output.ToString().Split('\n');
            Assert.True(lines.Count(line => line.Contains($"tunnel2 {command.Name}", StringComparison.Ordinal)) >= 3, command.Name);
            Assert.Contains("Examples:", lines);
            Assert.Contains("Exit codes:", lines);
            Assert.All(lines, static line => Assert.True(line.Length <= 140, line));
        }
    }

    [Fact]
    public async Task Version_for_programs_is_an_object()
    {
        Assert.Equal(0, await RunAsync("version --json", static (_, _, _) => throw new InvalidOperationException("must not run")));
        using var json = System.Text.Json.JsonDocument.Parse(_output.ToString());
        Assert.Matches("^[0-9]+\\.[0-9]+\\.[0-9]+", json.RootElement.GetProperty("version").GetString());
    }

    [Theory]
    [InlineData("http 3000", true)]
    [InlineData("tcp 22 --name db", true)]
    [InlineData("http 3000 --server 127.0.0.1", false)]
    public async Task Without_a_setting_three_lines_say_what_is_needed(string line, bool isAsked)
    {
        int code = await AgentCli.RunAsync(
            line.Split(' '), static _ => null, _ => new FakeRunner(static (_, _, _) => Task.FromResult(0)), _output, _error,
            CancellationToken.None, _time, hasLocalServer: static _ => Task.FromResult(false));

        Assert.Equal(isAsked ? 2 : 0, code);
        string[] lines = _error.ToString().Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(isAsked ? 3 : 0, lines.Length);
        Assert.All(isAsked ? ["tunnel2 login", "--server", "TUNNEL2_TOKEN"] : Array.Empty<string>(), word =>
            Assert.Contains(word, _error.ToString(), StringComparison.Ordinal));
    }

    [Fact]
    public async Task A_server_of_this_machine_needs_no_configuration()
    {
        int code = await AgentCli.RunAsync(
            ["http", "3000"], static _ => null, _ => new FakeRunner(static (_, _, _) => Task.FromResult(0)), _output, _error,
            CancellationToken.None, _time, hasLocalServer: static _ => Task.FromResult(true));

        Assert.Equal(0, code);
        Assert.Empty(_error.ToString());
    }

    [Theory]
    [InlineData(3, 0, 3)]
    [InlineData(0, 4, 4)]
    public async Task One_tunnel_that_fails_does_not_end_the_others(int webExitCode, int apiExitCode, int exitCode)
    {
        string path = Path.GetTempFileName();
        await File.WriteAllTextAsync(
            path, "tunnels:\n- name: web\n  upstream: 3000\n- name: api\n  upstream: 3001\n", TestContext.Current.CancellationToken);
        var webHasEnded = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);

        int result = await RunAsync($"start --config {path}", async (options, events, _) =>
        {
            if (options.Name == "web")
            {
                webHasEnded.SetResult();
                return webExitCode;
            }

            await webHasEnded.Task;
            events.Ready(["http://127.0.0.1:12000"], options.Upstream);
            events.Stopped();
            return apiExitCode;
        });

        File.Delete(path);
        Assert.Equal(exitCode, result);
        Assert.Equal("Forwarding http://127.0.0.1:12000 -> http://127.0.0.1:3001\n[api] Stopped\n", _output.ToString());
    }

    [Fact]
    public async Task Mistakes_of_a_file_are_a_line_each()
    {
        string path = Path.GetTempFileName();
        await File.WriteAllTextAsync(path, "srver: a\ntunnels:\n- upstream: x\n", TestContext.Current.CancellationToken);

        int exitCode = await RunAsync($"start --config {path}", static (_, _, _) => throw new InvalidOperationException("must not run"));

        File.Delete(path);
        Assert.Equal(2, exitCode);
        string[] lines = _error.ToString().Split('\n');
        Assert.Equal($"tunnel2: {path}:1: 'srver' is not a key here, did you mean 'server'?", lines[0]);
        Assert.StartsWith($"tunnel2: {path}:3: upstream: ", lines[1], StringComparison.Ordinal);
        Assert.StartsWith("Usage: ", lines[2], StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_fault_of_the_agent_gives_1_and_says_so()
    {
        int exitCode = await RunAsync("http 3000", static (_, _, _) => throw new InvalidOperationException("broken"));

        Assert.Equal(1, exitCode);
        Assert.Contains("internal error", _error.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Stopping_an_agent_that_throws_for_it_gives_0()
    {
        using var stop = new CancellationTokenSource();
        int exitCode = await RunAsync(
            "http 3000",
            async (_, _, token) =>
            {
                await stop.CancelAsync();
                token.ThrowIfCancellationRequested();
                return 1;
            },
            stop.Token);

        Assert.Equal(0, exitCode);
    }

    [Fact]
    public async Task The_first_signal_asks_to_stop_and_the_second_ends_the_process()
    {
        var exits = new List<int>();
        using var signals = new StopSignals(exits.Add);
        var stopped = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using CancellationTokenRegistration registration = signals.Token.Register(stopped.SetResult);

        signals.OnSignal(2);
        await stopped.Task.WaitAsync(AsyncCounter.DefaultTimeout);
        Assert.Empty(exits);

        signals.OnSignal(15);
        Assert.Equal([143], exits);
    }

    [Fact]
    public void A_command_that_does_not_end_after_a_signal_is_ended()
    {
        var exits = new List<int>();
        var time = new ManualTimeProvider();
        using var signals = new StopSignals(exits.Add, TimeSpan.FromSeconds(3), time);
        signals.OnSignal(15);
        time.Advance(TimeSpan.FromSeconds(2.9));
        Assert.Empty(exits);
        time.Advance(TimeSpan.FromSeconds(0.1));
        Assert.Equal([143], exits);
    }

    [Fact]
    public void A_closed_terminal_asks_to_stop_and_its_second_report_for_no_haste()
    {
        var exits = new List<int>();
        using var signals = new StopSignals(exits.Add);
        signals.OnSignal(1);
        signals.OnSignal(1);
        Assert.Empty(exits);
        Assert.True(signals.Token.IsCancellationRequested);
        signals.OnSignal(2);
        Assert.Equal([130], exits);
    }

    [Fact]
    public void An_interrupt_is_left_to_the_program_that_has_the_terminal()
    {
        var exits = new List<int>();
        using var signals = new StopSignals(exits.Add);
        using (signals.LeaveInterrupts())
        {
            signals.OnSignal(2);
            signals.OnSignal(2);
            Assert.Empty(exits);
            Assert.False(signals.Token.IsCancellationRequested);
        }

        signals.OnSignal(2);
        signals.OnSignal(2);
        Assert.Equal([130], exits);
    }
}
