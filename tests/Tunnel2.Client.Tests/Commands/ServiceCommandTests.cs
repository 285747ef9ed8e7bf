using System.Net.Sockets;
using System.Text;
using System.Text.Json;

namespace Tunnel2.Client.Tests.Commands;

/// <summary><c>tunnel2 service</c> for a user, with a systemctl and a journalctl that only write down what they are asked.</summary>
public sealed class ServiceCommandTests : IDisposable
{
    private const string Unit = "systemd/user/tunnel2-agent.service";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");
    private readonly StringWriter _output = new() { NewLine = "\n" };
    private readonly StringWriter _error = new() { NewLine = "\n" };
    private readonly Dictionary<string, string?> _environment;

    public ServiceCommandTests()
    {
        _environment = new()
        {
            ["XDG_CONFIG_HOME"] = PathOf("config"),
            ["XDG_RUNTIME_DIR"] = _folder.FullName,
            ["PATH"] = PathOf("bin"),
        };
        Directory.CreateDirectory(PathOf("bin"));
        File.WriteAllText(PathOf("tunnels.yml"), "server: t.example\ntunnels:\n- name: web\n  upstream: 3000\n");
    }

    public void Dispose()
    {
        _output.Dispose();
        _error.Dispose();
        _folder.Delete(recursive: true);
    }

    private string PathOf(string name) => Path.Combine(_folder.FullName, name);

    private string Read(string name) => File.ReadAllText(PathOf(name));

    /// <summary>Makes a program that writes its arguments down and does what the script says.</summary>
    private void MakeProgram(string name, string script)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "systemd");
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        File.WriteAllText(PathOf($"bin/{name}"), $"#!/bin/sh\necho \"$*\" >> '{PathOf("calls")}'\n{script}\n");
        File.SetUnixFileMode(
            PathOf($"bin/{name}"), UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
    }

    private Task<int> RunAsync(string line) => AgentCli.RunAsync(
        line.Replace("FILE", PathOf("tunnels.yml"), StringComparison.Ordinal).Split(' '),
        _environment.GetValueOrDefault,
        static _ => throw new InvalidOperationException("must not run"),
        _output,
        _error,
        TestContext.Current.CancellationToken);

    [Fact]
    public async Task Install_writes_the_unit_and_the_token_and_starts_it_and_uninstall_removes_both()
    {
        MakeProgram("systemctl", "exit 0");
        _environment["TUNNEL2_TOKEN"] = "s3cret";
        Assert.Equal(0, await RunAsync("service install --user --config FILE"));
        Assert.Equal(
            "--user daemon-reload\n--user enable tunnel2-agent.service\n--user restart tunnel2-agent.service\n", Read("calls"));
        Assert.Contains($"--config {PathOf("tunnels.yml")}", Read("config/" + Unit), StringComparison.Ordinal);
        Assert.Equal("s3cret\n", Read("config/tunnel2/services/tunnel2-agent.token"));
        Assert.Contains("enable-linger", _output.ToString(), StringComparison.Ordinal);

        // Again, in its own place.
        Assert.Equal(0, await RunAsync("service install --user --config FILE"));
        File.Delete(PathOf("calls"));
        Assert.Equal(0, await RunAsync("service uninstall --user"));
        Assert.Equal(
            "--user disable --now tunnel2-agent.service\n--user daemon-reload\n--user reset-failed tunnel2-agent.service\n", Read("calls"));
        Assert.False(File.Exists(PathOf("config/" + Unit)));
        Assert.False(File.Exists(PathOf("config/tunnel2/services/tunnel2-agent.token")));
        Assert.Equal(0, await RunAsync("service uninstall --user"));
        Assert.EndsWith("tunnel2-agent is not installed.\n", _output.ToString(), StringComparison.Ordinal);
        Assert.Empty(_error.ToString());
        Assert.DoesNotContain("s3cret", _output.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_dry_run_prints_the_unit_and_changes_nothing()
    {
        MakeProgram("systemctl", "exit 0");
        _environment["TUNNEL2_TOKEN"] = "s3cret";
        Assert.Equal(0, await RunAsync("service install --user --name web --config FILE --dry-run"));
        Assert.Contains("\nType=notify\n", _output.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("s3cret", _output.ToString(), StringComparison.Ordinal);
        Assert.False(File.Exists(PathOf("calls")));
        Assert.False(Directory.Exists(PathOf("config")));
    }

    [Fact]
    public async Task Rows_of_a_policy_in_the_file_of_tunnels_are_no_file_that_needs_its_whole_path()
    {
        MakeProgram("systemctl", "exit 0");
        await File.AppendAllTextAsync(
            PathOf("tunnels.yml"), "  policy:\n  - path: /a\n    deny: true\n", TestContext.Current.CancellationToken);
        Assert.Equal(0, await RunAsync("service install --user --config FILE --dry-run"));
        Assert.Empty(_error.ToString());

        string text = Read("tunnels.yml");
        text = text[..text.IndexOf("  policy:", StringComparison.Ordinal)] + "  policy: policy.json\n";
        await File.WriteAllTextAsync(PathOf("tunnels.yml"), text, TestContext.Current.CancellationToken);
        Assert.Equal(2, await RunAsync("service install --user --config FILE --dry-run"));
    }

    [Fact]
    public async Task For_programs_installing_and_removing_are_objects()
    {
        MakeProgram("systemctl", "exit 0");
        Assert.Equal(0, await RunAsync("service install --user --config FILE --dry-run --json"));
        Assert.Equal(0, await RunAsync("service install --user --config FILE --json"));
        Assert.Equal(0, await RunAsync("service uninstall --user --json"));
        Assert.Equal(0, await RunAsync("service uninstall --user --json"));

        JsonElement[] lines = [.. _output.ToString().TrimEnd('\n').Split('\n').Select(static line => JsonElement.Parse(line))];
        Assert.All(lines, static line => Assert.Equal("tunnel2-agent", line.GetProperty("name").GetString()));
        Assert.Contains("\nType=notify\n", lines[0].GetProperty("text").GetString(), StringComparison.Ordinal);
        Assert.Equal([false, true], lines[..2].Select(static line => line.GetProperty("installed").GetBoolean()));
        Assert.Equal([true, false], lines[2..].Select(static line => line.GetProperty("removed").GetBoolean()));
    }

    [Theory]
    [InlineData("service install --user --name a/b --config FILE", 2, "--name: ")]
    [InlineData("service install --user --run-as alice --config FILE", 2, "--run-as: cannot go with --user")]
    [InlineData("service install --user --config FILE.none", 2, "cannot be read")]
    [InlineData("service install --user --config FILE --token-file /nowhere", 2, "cannot be read")]
    [InlineData("service instal", 2, "did you mean 'service install'?")]
    [InlineData("service", 2, "'service' needs one of these after it")]
    [InlineData("service logs --user --lines 0", 2, "--lines: '0'")]
    [InlineData("service logs --user --lines 100001", 2, "--lines: ")]
    [InlineData("service status --user", 1, "systemctl is not to be found")]
    [InlineData("service logs --user", 1, "journalctl is not to be found")]
    public async Task What_cannot_be_done_is_said_and_changes_nothing(string line, int exitCode, string message)
    {
        Assert.Equal(exitCode, await RunAsync(line));
        Assert.Contains(message, _error.ToString(), StringComparison.Ordinal);
        Assert.False(Directory.Exists(PathOf("config")));
    }

    [Fact]
    public async Task A_service_that_does_not_start_is_reported_with_the_manager_s_words()
    {
        MakeProgram("systemctl", "case \"$*\" in *restart*) echo 'Job failed: timeout' >&2; exit 1;; esac");
        Assert.Equal(1, await RunAsync("service install --user --config FILE"));
        Assert.Contains(
            "'systemctl --user restart tunnel2-agent.service' ended with 1: Job failed: timeout", _error.ToString(),
            StringComparison.Ordinal);
        Assert.Contains("'tunnel2 service logs --user'", _error.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_unit_of_another_s_making_is_left_alone()
    {
        MakeProgram("systemctl", "exit 0");
        Directory.CreateDirectory(Path.GetDirectoryName(PathOf("config/" + Unit))!);
        File.WriteAllText(PathOf("config/" + Unit), "[Unit]\n");
        Assert.Equal(1, await RunAsync("service install --user --config FILE"));
        Assert.Equal(1, await RunAsync("service uninstall --user"));
        Assert.Equal("[Unit]\n", Read("config/" + Unit));
        Assert.False(File.Exists(PathOf("calls")));
    }

    [Fact]
    public async Task Status_has_the_manager_s_word_and_the_agent_s_own()
    {
        MakeProgram(
            "systemctl", "printf 'LoadState=loaded\\nActiveState=active\\nUnitFileState=enabled\\nMainPID=4711\\nNRestarts=2\\n'");
        string folder = Directory.CreateDirectory(PathOf("tunnel2")).FullName;
        using var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        listener.Bind(new UnixDomainSocketEndPoint(Path.Combine(folder, "4711.sock")));
        listener.Listen();
        Task answering = AnswerTwiceAsync(listener);
        Assert.Equal(0, await RunAsync("service status --user"));
        Assert.StartsWith(
            "tunnel2-agent (systemd, user): active, process 4711, started again 2 times\n", _output.ToString(), StringComparison.Ordinal);
        Assert.Contains("https://web.example -> http://127.0.0.1:3000", _output.ToString(), StringComparison.Ordinal);

        _output.GetStringBuilder().Clear();
        Assert.Equal(0, await RunAsync("service status --user --json"));
        await answering;
        using var json = JsonDocument.Parse(_output.ToString());
        JsonElement root = json.RootElement;
        Assert.True(root.GetProperty("running").GetBoolean() && root.GetProperty("starts_by_itself").GetBoolean());
        Assert.Equal(4711, root.GetProperty("pid").GetInt32());
        Assert.Equal(JsonValueKind.Null, root.GetProperty("exit_code").ValueKind);
        Assert.Equal("web", root.GetProperty("agent").GetProperty("tunnels")[0].GetProperty("name").GetString());
    }

    [Fact]
    public async Task A_service_that_has_ended_says_why_and_one_that_is_not_there_so()
    {
        MakeProgram(
            "systemctl", "printf 'LoadState=loaded\\nActiveState=failed\\nMainPID=0\\nExecMainCode=1\\nExecMainStatus=3\\n'");
        Assert.Equal(5, await RunAsync("service status --user"));
        Assert.Equal(
            "tunnel2-agent (systemd, user): failed, ended with 3: the server refused it for good, or another agent took its name\n",
            _output.ToString());
        MakeProgram("systemctl", "echo LoadState=not-found");
        _output.GetStringBuilder().Clear();
        Assert.Equal(5, await RunAsync("service status --user --json"));
        Assert.Contains("\"installed\":false", _output.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Logs_are_copied_as_they_come()
    {
        MakeProgram("journalctl", "echo one; echo two");
        Assert.Equal(0, await RunAsync("service logs --user --name web --lines 20 --follow"));
        Assert.Equal("one\ntwo\n", _output.ToString());
        Assert.Equal("--user --unit=tunnel2-agent-web.service --lines=20 --no-pager --follow\n", Read("calls"));
        _output.GetStringBuilder().Clear();
        MakeProgram("journalctl", "echo 'say \"one\"'; echo; printf two");
        Assert.Equal(0, await RunAsync("service logs --user --json"));
        Assert.Equal("{\"line\":\"say \\\"one\\\"\"}\n{\"line\":\"\"}\n{\"line\":\"two\"}\n", _output.ToString());
        MakeProgram("journalctl", "echo 'No journal files' >&2; exit 1");
        Assert.Equal(1, await RunAsync("service logs --user"));
        Assert.Contains("ended with 1: No journal files", _error.ToString(), StringComparison.Ordinal);
    }

    private static async Task AnswerTwiceAsync(Socket listener)
    {
        const string Report =
            """
            {"pid":4711,"version":"1.0","started":"2030-01-01T00:00:00Z","tunnels":[{"name":"web","kind":"http",
            "upstream":"http://127.0.0.1:3000","server":"t.example:12001","state":"ready","since":"2030-01-01T00:00:00Z",
            "urls":["https://web.example"],"service_answers":true}]}
            """;
        for (int i = 0; i < 2; i++)
        {
            using Socket caller = await listener.AcceptAsync(TestContext.Current.CancellationToken);
            await caller.SendAsync(Encoding.UTF8.GetBytes(Report), TestContext.Current.CancellationToken);
            caller.Shutdown(SocketShutdown.Both);
        }
    }
}
