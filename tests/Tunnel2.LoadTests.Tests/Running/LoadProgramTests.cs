using System.Net;
using System.Text.Json;
using Tunnel2.LoadTests.Running;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.TestBackend;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoadTests.Tests.Running;

public sealed class LoadProgramTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-load-tests-").FullName;
    private readonly StringWriter _output = new();
    private readonly StringWriter _errors = new();

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task The_quick_form_runs_against_a_real_tunnel_and_leaves_its_results()
    {
        var exitCode = await RunAsync("baseline", "concurrent-1000", "churn", "--duration-scale", "0.02", "--warm-up", "0.5");

        Assert.True(exitCode == 0, $"{_output}\n{_errors}");
        using var report = JsonDocument.Parse(
            await File.ReadAllTextAsync(Path.Combine(_folder, "results.json"), TestContext.Current.CancellationToken));
        var scenarios = report.RootElement.GetProperty("scenarios");
        Assert.Equal(
            ["baseline", "concurrent-1000", "churn"],
            scenarios.EnumerateArray().Select(static scenario => scenario.GetProperty("name").GetString()));
        Assert.All(scenarios.EnumerateArray(), static scenario =>
        {
            var total = scenario.GetProperty("flows")[0].GetProperty("total");
            Assert.Equal(total.GetProperty("requests").GetInt64(), total.GetProperty("ok").GetInt64());
            Assert.True(scenario.GetProperty("generatorLag").GetProperty("count").GetInt64() > 0);
        });
        var page = await File.ReadAllTextAsync(Path.Combine(_folder, "results.html"), TestContext.Current.CancellationToken);
        Assert.Contains("<svg", page, StringComparison.Ordinal);
        Assert.DoesNotContain("<script", page, StringComparison.Ordinal);
        Assert.Contains(
            "| 1,000 at once, 1/s | 1,000 | 1,000 | 0 |",
            await File.ReadAllTextAsync(Path.Combine(_folder, "results.md"), TestContext.Current.CancellationToken),
            StringComparison.Ordinal);
    }

    [Fact]
    public async Task Small_and_bulk_requests_events_and_websockets_go_through_a_real_tunnel_together()
    {
        // Without its limit of latency: other programs of the machine decide about that.
        var mixed = ScenarioCatalog.Find("mixed")! with { Rules = [new OkShareRule(1)] };
        var options = new LoadOptions { DurationScale = 0.03, WarmUp = TimeSpan.FromSeconds(0.5) };

        var result = await new ScenarioRunner(options, _output).RunAsync(mixed, TestContext.Current.CancellationToken);

        Assert.True(result.Passed, _output.ToString());
        Assert.Equal(["backend", "ProxyEntry", "agent", "generator"], result.Processes.Select(static process => process.Name));
    }

    [Fact]
    public async Task A_rule_that_does_not_hold_is_exit_code_1()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions(), TestContext.Current.CancellationToken);

        // Each connection, because those of the warm-up, of which a busy machine needs several, look as those that count.
        await using var relay = CuttingProxy.Start(
            backend.EndPoint, static connection => connection.CutAfter(RelayDirection.ToClient, 3000, CutMode.Reset));
        _output.NewLine = "\n";

        Assert.Equal(
            1, await RunAsync("baseline", "--url", $"http://127.0.0.1:{relay.Port}", "--duration-scale", "0.02", "--warm-up", "0.2"));
        Assert.Contains("does not hold: every request", _output.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_stopped_run_reports_what_was_done()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions(), TestContext.Current.CancellationToken);
        using var stop = new CancellationTokenSource();
        await using var output = new StoppingWriter(stop, "/s due");

        var exitCode = await LoadProgram.RunAsync(
            ["baseline", "ramp", "--url", backend.BaseAddress.ToString(), "--warm-up", "0.2", "--results", _folder],
            output,
            _errors,
            stop.Token);

        Assert.Equal(130, exitCode);
        Assert.Contains("baseline: stopped", output.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("ramp:", output.ToString(), StringComparison.Ordinal);
        Assert.Contains(
            "\"wasStopped\": true",
            await File.ReadAllTextAsync(Path.Combine(_folder, "results.json"), TestContext.Current.CancellationToken),
            StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_results_folder_that_cannot_be_written_is_said_before_anything_runs()
    {
        var file = Path.Combine(_folder, "file");
        await File.WriteAllTextAsync(file, "", TestContext.Current.CancellationToken);

        Assert.Equal(
            2,
            await LoadProgram.RunAsync(
                ["baseline", "--results", Path.Combine(file, "results")], _output, _errors, TestContext.Current.CancellationToken));
        Assert.Contains("Results cannot be written into", _errors.ToString(), StringComparison.Ordinal);
        Assert.Empty(_output.ToString());
    }

    [Fact]
    public async Task A_report_of_before_that_cannot_be_written_anew_is_said_before_anything_runs()
    {
        Directory.CreateDirectory(Path.Combine(_folder, "results.html"));

        Assert.Equal(2, await RunAsync("baseline", "--url", "http://127.0.0.1:1"));
        Assert.Contains("Results cannot be written into", _errors.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_disk_that_is_full_by_then_is_said_and_the_other_reports_are_written()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions(), TestContext.Current.CancellationToken);
        File.CreateSymbolicLink(Path.Combine(_folder, "results.md"), "/dev/full");

        Assert.Equal(
            1,
            await RunAsync(
                "baseline", "--url", $"http://127.0.0.1:{backend.EndPoint.Port}", "--duration-scale", "0.005", "--warm-up", "0.1"));
        Assert.Matches("results.md could not be written: [^\n]+\n$", _errors.ToString());
        Assert.True(new FileInfo(Path.Combine(_folder, "results.json")).Length > 0);
        Assert.True(new FileInfo(Path.Combine(_folder, "results.html")).Length > 0);
    }

    [Fact]
    public async Task Output_that_is_not_taken_does_not_end_the_run()
    {
        await using var output = new LossyWriter(new FullWriter());
        await output.WriteLineAsync("lost");
        await output.FlushAsync(TestContext.Current.CancellationToken);
    }

    [Fact]
    public async Task Each_scenario_runs_through_the_ancestors_design_too_and_its_figures_stand_beside_ours()
    {
        // Whether the limits of latency hold is for the machine to decide, but every answer is right through either.
        await RunAsync("concurrent-50", "--as-ancestor", "--duration-scale", "0.02", "--warm-up", "0.3");

        using var report = JsonDocument.Parse(
            await File.ReadAllTextAsync(Path.Combine(_folder, "results.json"), TestContext.Current.CancellationToken));
        var scenarios = report.RootElement.GetProperty("scenarios").EnumerateArray().ToArray();
        Assert.Equal(
            ["concurrent-10", "concurrent-10-as-ancestor", "concurrent-50", "concurrent-50-as-ancestor"],
            scenarios.Select(static scenario => scenario.GetProperty("name").GetString()));
        Assert.All(scenarios, static scenario =>
        {
            var total = scenario.GetProperty("flows")[0].GetProperty("total");
            Assert.Equal(total.GetProperty("requests").GetInt64(), total.GetProperty("ok").GetInt64());
        });
        foreach (var name in new[] { "results.md", "results.html" })
        {
            var page = await File.ReadAllTextAsync(Path.Combine(_folder, name), TestContext.Current.CancellationToken);
            Assert.Contains("ancestor reported 193 ms for this load", WebUtility.HtmlDecode(page), StringComparison.Ordinal);
            Assert.Contains("times that of concurrent-10.", page, StringComparison.Ordinal);
            Assert.Contains("its rules decide nothing", page, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task A_suite_that_is_killed_leaves_no_process_and_no_file_behind()
    {
        await using var program = ProcessRunner.Start("dotnet", [typeof(LoadProgram).Assembly.Location, "baseline", "--results", _folder]);
        var children = await WaitForChildrenAsync(program);
        var folder = FolderOfAgent(children);
        Assert.True(Directory.Exists(folder));

        program.Kill();

        await WaitSignal.UntilAsync(() => children.All(HasEnded), "every program has ended");
        Assert.False(Directory.Exists(folder));
    }

    [Fact]
    public void Where_the_generator_does_not_run_one_line_says_why()
    {
        Assert.Null(LoadProgram.WhyNotOn(isLinux: true, "Linux"));
        var line = LoadProgram.WhyNotOn(isLinux: false, "Windows 11");
        Assert.Contains("this is Windows 11", line, StringComparison.Ordinal);
        Assert.Contains("NBomber", line, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', line!);
    }

    [Fact]
    public async Task A_second_signal_ends_the_programs_that_were_started_too()
    {
        await using var program = ProcessRunner.Start("dotnet", [typeof(LoadProgram).Assembly.Location, "baseline", "--results", _folder]);
        var children = await WaitForChildrenAsync(program);
        program.Terminate();
        program.Terminate();
        await program.WaitForExitAsync(cancellationToken: TestContext.Current.CancellationToken);
        await WaitSignal.UntilAsync(() => children.All(HasEnded), "every program has ended");
    }

    [Fact]
    public async Task A_tunnel_where_nothing_works_is_said_and_nothing_is_measured()
    {
        using var port = new RefusedPort();
        Assert.Equal(2, await RunAsync("baseline", "--url", $"http://127.0.0.1:{port.Port}", "--warm-up", "0.2"));
        Assert.Contains("ConnectRefused", _errors.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("uplink-loss", "leave out --url")]
    [InlineData("spread-40", "give --host")]
    public async Task A_scenario_that_needs_more_than_one_url_says_so(string scenario, string words)
    {
        Assert.Equal(2, await RunAsync(scenario, "--url", "http://127.0.0.1:1"));
        Assert.Contains(words, _errors.ToString(), StringComparison.Ordinal);
    }

    private Task<int> RunAsync(params string[] arguments) =>
        LoadProgram.RunAsync([.. arguments, "--results", _folder], _output, _errors, TestContext.Current.CancellationToken);

    /// <summary>Waits until the load runs: backend, ProxyEntry, agent, and the shell that ends them if the suite cannot.</summary>
    private static async Task<IReadOnlyList<string>> WaitForChildrenAsync(ProcessRunner program)
    {
        await program.WaitForLineAsync(
            static line => line.Contains("/s due", StringComparison.Ordinal),
            TimeSpan.FromSeconds(60),
            TestContext.Current.CancellationToken);
        var children = Directory.GetDirectories($"/proc/{program.Id}/task")
            .SelectMany(static task => File.ReadAllText(Path.Combine(task, "children")).Split(' ', StringSplitOptions.RemoveEmptyEntries))
            .ToList();
        Assert.Equal(4, children.Count);
        return children;
    }

    private static string FolderOfAgent(IEnumerable<string> children)
    {
        var arguments = children.Select(static id => File.ReadAllText($"/proc/{id}/cmdline").Split('\0'))
            .Single(static arguments => arguments.Contains("--config"));
        return Path.GetDirectoryName(arguments[Array.IndexOf(arguments, "--config") + 1])!;
    }

    /// <summary>A process whose exit code was not read yet counts as ended.</summary>
    private static bool HasEnded(string id)
    {
        try
        {
            return File.ReadLines($"/proc/{id}/status").Any(static line => line.StartsWith("State:\tZ", StringComparison.Ordinal));
        }
        catch (IOException)
        {
            return true;
        }
    }

    private sealed class FullWriter : StringWriter
    {
        public override void WriteLine(string? value) => throw new IOException("No space left on device.");

        public override void Flush() => throw new IOException("No space left on device.");
    }

    /// <summary>Asks for the end when a text is written.</summary>
    private sealed class StoppingWriter(CancellationTokenSource stop, string text) : StringWriter
    {
        public override void WriteLine(string? value)
        {
            base.WriteLine(value);
            if (value?.Contains(text, StringComparison.Ordinal) == true)
            {
                stop.Cancel();
            }
        }
    }
}
