using System.Net.Http.Headers;
using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Cli;

/// <summary>Commands of the built program beside a real server.</summary>
public sealed class CommandProcessTests(SharedTunnels tunnels) : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    private Dictionary<string, string?> Environment => new()
    {
        ["XDG_CONFIG_HOME"] = _folder["config"],
        ["XDG_STATE_HOME"] = _folder["state"],
        ["XDG_RUNTIME_DIR"] = null,
        ["TUNNEL2_TOKEN"] = null,
        ["TUNNEL2_SERVER"] = null,
    };

    private Task<(int ExitCode, string Output)> RunAsync(params string[] words) => RunAsync(Environment, words);

    private static async Task<(int ExitCode, string Output)> RunAsync(Dictionary<string, string?> environment, string[] words)
    {
        await using ProcessRunner program = BuiltPrograms.StartAgent(words, environment);
        var (exitCode, output) = await Shell.FinishAsync(program);
        return (exitCode, output);
    }

    [Theory]
    [InlineData("bash")]
    [InlineData("zsh")]
    [InlineData("fish")]
    [InlineData("powershell")]
    public async Task Completion_goes_to_the_output(string shell)
    {
        var (exitCode, output) = await RunAsync("completion", shell);
        Assert.Equal(0, exitCode);
        Assert.Contains($"made by 'tunnel2 completion {shell}'", output, StringComparison.Ordinal);
    }

    /// <summary>A full disk and a closed output are no fault of the program, and no reason for a stack trace.</summary>
    [Theory]
    [InlineData("version", ">/dev/full")]
    [InlineData("completion bash", ">/dev/full")]
    [InlineData("status", ">&-")]
    [InlineData("help http", ">&-")]
    public async Task An_output_that_cannot_be_written_is_said(string words, string redirection)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Has /dev/full.");
        ShellResult agent = await Shell.RunBashAsync(
            $"XDG_RUNTIME_DIR=$2 dotnet \"$1\" {words} {redirection}", BuiltPrograms.AgentPath, _folder["run"]);
        Assert.Equal(1, agent.ExitCode);
        Assert.StartsWith("tunnel2: the output cannot be written: ", agent.Output, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', agent.Output.Trim());

        ShellResult entry = await Shell.RunBashAsync($"dotnet \"$1\" token create --name web {redirection}", BuiltPrograms.EntryPath);
        Assert.Equal(1, entry.ExitCode);
        Assert.StartsWith("tunnel2-entry: the output cannot be written: ", entry.Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("")]
    [InlineData("certificate list")]
    public async Task A_working_directory_that_was_removed_is_said(string words)
    {
        ShellResult entry = await Shell.RunBashAsync(
            $"mkdir \"$2\" && cd \"$2\" && rmdir \"$2\" && dotnet \"$1\" {words}", BuiltPrograms.EntryPath, _folder["gone"]);
        Assert.Equal(2, entry.ExitCode);
        Assert.Contains("The working directory was removed: change to one that exists.", entry.Output, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', entry.Output.Trim());
    }

    [Fact]
    public async Task A_command_that_follows_ends_with_the_reader_of_its_output()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Other systems have the console's stream, which does not say that a reader has left.");
        RealTunnel shared = await tunnels.GetAsync();
        ShellResult result = await Shell.RunBashAsync(
            "dotnet \"$1\" top --json --host \"$2\" | head -1; echo \"ended with ${PIPESTATUS[0]}\"",
            BuiltPrograms.AgentPath, shared.Entry.Admin.ToString());
        Assert.StartsWith("{", result.Output, StringComparison.Ordinal);
        Assert.EndsWith("\nended with 0", result.Output.Trim(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_terminal_gets_text_and_no_sequence_from_a_command_without_a_screen()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux() && File.Exists("/usr/bin/script"), "There is no 'script'.");
        ShellResult result = await Shell.RunBashAsync(
            "TERM=xterm-256color script -qec \"dotnet '$1' version\" /dev/null </dev/null", BuiltPrograms.AgentPath);
        Assert.Contains("tunnel2 ", result.Output, StringComparison.Ordinal);
        Assert.DoesNotContain('\x1b', result.Output);

        ShellResult entry = await Shell.RunBashAsync(
            "TERM=xterm-256color script -qec \"dotnet '$1' token create --name web; dotnet '$1' stray\" /dev/null </dev/null",
            BuiltPrograms.EntryPath);
        Assert.Contains("TokenHash", entry.Output, StringComparison.Ordinal);
        Assert.Contains("'stray'", entry.Output, StringComparison.Ordinal);
        Assert.DoesNotContain('\x1b', entry.Output);
    }

    /// <summary>The shell opens the pipe, too: its call returns when the program has opened it, and then nothing is written.</summary>
    [Theory]
    [InlineData("config check", 143)]
    [InlineData("start --config", 0)]
    public async Task A_signal_ends_a_command_that_waits_for_its_file(string command, int exitCode)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Makes a pipe and sends a signal.");
        ShellResult result = await Shell.RunBashAsync(
            $"mkfifo \"$2\"; dotnet \"$1\" {command} \"$2\" & exec 3>\"$2\"; kill -TERM $!; wait $!; echo \"ended with $?\"",
            BuiltPrograms.AgentPath, _folder["pipe"]);
        Assert.EndsWith($"ended with {exitCode}", result.Output.Trim(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_token_is_made_used_listed_and_revoked()
    {
        await using EntryProcess entry = await EntryProcess.StartAsync(
            $"--Tunnel2:StateFolder={_folder["kept"]}", "--Tunnel2:Admin:Token=admin-secret");
        var environment = new Dictionary<string, string?>(Environment)
        {
            ["TUNNEL2_ADMIN_URL"] = $"http://{entry.Admin}",
            ["TUNNEL2_ADMIN_TOKEN"] = "admin-secret",
        };
        var (exitCode, output) = await RunAsync(environment, ["token", "create", "--name", "web", "--json"]);
        Assert.Equal(0, exitCode);
        string token = JsonDocument.Parse(output).RootElement.GetProperty("token").GetString()!;
        await using (ProcessRunner agent = BuiltPrograms.StartAgent(
            ["http", "9", "--name", "web", "--server", entry.Uplink.ToString()],
            new Dictionary<string, string?>(Environment) { ["TUNNEL2_TOKEN"] = token }))
        {
            await agent.WaitForLineAsync(static line => line.StartsWith("Forwarding ", StringComparison.Ordinal), Limits.Start);
            (exitCode, output) = await RunAsync(environment, ["token", "list"]);
            Assert.Equal(0, exitCode);
            Assert.Matches("(?m)^web +web +web +– +never +20.+Z +1$", output);
            (exitCode, output) = await RunAsync(environment, ["token", "revoke", "web"]);
            Assert.Equal((0, "web is revoked; 1 sessions were ended"), (exitCode, output.Trim()));
            Assert.Equal(3, await agent.WaitForExitAsync(Limits.Start));
        }

        (exitCode, output) = await RunAsync(new(environment) { ["TUNNEL2_ADMIN_TOKEN"] = "wrong" }, ["token", "list"]);
        Assert.Equal(3, exitCode);
        Assert.Contains("is not that of Admin:Token", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_folder_is_served_through_the_tunnel()
    {
        RealTunnel shared = await tunnels.GetAsync();
        Directory.CreateDirectory(_folder["site"]);
        await File.WriteAllTextAsync(Path.Combine(_folder["site"], "index.html"), "<h1>home</h1>", TestContext.Current.CancellationToken);
        byte[] large = new byte[3_000_000];
        Random.Shared.NextBytes(large);
        await File.WriteAllBytesAsync(Path.Combine(_folder["site"], "large.bin"), large, TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(Path.Combine(_folder["site"], ".env"), "SECRET", TestContext.Current.CancellationToken);
        await using ProcessRunner agent = BuiltPrograms.StartAgent(
            ["file", _folder["site"], "--name", "files", "--server", shared.Entry.Uplink.ToString()], Environment);
        await agent.WaitForLineAsync(static line => line.StartsWith("Forwarding ", StringComparison.Ordinal), Limits.Start);
        using HttpClient client = shared.CreateClient();
        client.BaseAddress = new Uri($"http://files.localhost:{shared.Entry.Public.Port}/");

        Assert.Equal("<h1>home</h1>", await client.GetStringAsync(new Uri("/", UriKind.Relative), TestContext.Current.CancellationToken));
        byte[] received = await client.GetByteArrayAsync(new Uri("/large.bin", UriKind.Relative), TestContext.Current.CancellationToken);
        Assert.True(large.AsSpan().SequenceEqual(received));
        using var hidden = await client.GetAsync(new Uri("/.env", UriKind.Relative), TestContext.Current.CancellationToken);
        Assert.Equal(404, (int)hidden.StatusCode);
        using var request = new HttpRequestMessage(HttpMethod.Get, "/large.bin");
        request.Headers.Range = new RangeHeaderValue(2_000_000, 2_000_009);
        using var part = await client.SendAsync(request, TestContext.Current.CancellationToken);
        Assert.Equal(206, (int)part.StatusCode);
        Assert.Equal(
            large[2_000_000..2_000_010], await part.Content.ReadAsByteArrayAsync(TestContext.Current.CancellationToken));

        await Shell.InterruptAsync(agent);
        Assert.Equal(0, (await Shell.FinishAsync(agent)).ExitCode);
    }

    [Fact]
    public async Task A_file_that_changes_changes_its_own_tunnels_only_and_status_says_so()
    {
        RealTunnel shared = await tunnels.GetAsync();
        string head = $"server: {shared.Entry.Uplink}\ntunnels:\n";
        string first = $"- name: reload1\n  upstream: {shared.BackendAddress.Port}\n";
        string second = $"- name: reload2\n  upstream: {shared.BackendAddress.Port}\n";
        await WriteAsync(head + first + second);
        await using ProcessRunner agent = BuiltPrograms.StartAgent(["start", "--config", _folder["tunnels.yml"]], Environment);
        await WaitForAsync(agent, "Forwarding http://reload1.");
        await WaitForAsync(agent, "Forwarding http://reload2.");
        Assert.Equal(0, (await RunAsync("ready")).ExitCode);

        using HttpClient client = shared.CreateClient();
        string path = $"gather/2?id={Guid.NewGuid()}&begins=1&name=whole";
        using var held = await client.GetAsync(
            UrlOf(shared, "reload2", path), HttpCompletionOption.ResponseHeadersRead, TestContext.Current.CancellationToken);

        // The second one goes while an answer of it is under way, a third one comes, and the first one stays.
        await WriteAsync(head + first + $"- name: reload3\n  upstream: {shared.BackendAddress.Port}\n");
        await WaitForAsync(agent, "Forwarding http://reload3.");
        await WaitForAsync(agent, "added reload3; removed reload2");
        Assert.Equal(200, (int)await StatusAsync(client, UrlOf(shared, "reload1", "bytes/10")));
        Assert.Equal(200, (int)await StatusAsync(client, UrlOf(shared, "reload3", "bytes/10")));
        (await Shell.CurlAsync(new Uri(shared.BackendAddress, path).ToString())).EnsureSuccess();
        string whole = await held.Content.ReadAsStringAsync(TestContext.Current.CancellationToken);
        Assert.EndsWith("whole", whole.TrimEnd(), StringComparison.Ordinal);

        await WriteAsync(head + "- name: reload1\n  upstr");
        await WaitForAsync(agent, "The tunnels stay as they are");
        Assert.Equal(200, (int)await StatusAsync(client, UrlOf(shared, "reload1", "bytes/10")));
        var (exitCode, status) = await RunAsync("status", "--json");
        Assert.Equal(0, exitCode);
        Assert.Contains("\"name\":\"reload3\"", status, StringComparison.Ordinal);
        Assert.DoesNotContain("reload2", status, StringComparison.Ordinal);
        Assert.Equal(
            ["[reload1] Connecting to " + shared.Entry.Uplink],
            agent.Lines.Where(static line => line.StartsWith("[reload1]", StringComparison.Ordinal)));

        await Shell.InterruptAsync(agent);
        Assert.Equal(0, (await Shell.FinishAsync(agent)).ExitCode);
        Assert.Equal(5, (await RunAsync("ready")).ExitCode);
    }

    [Fact]
    public async Task A_login_checks_a_real_server_and_the_other_commands_use_it()
    {
        await using EntryProcess entry = await EntryProcess.StartAsync(
            "--Tunnel2:Uplink:Certificate=self-made", $"--Tunnel2:StateFolder={_folder["entry"]}", "--Tunnel2:AllowAnonymousAgents=false",
            $"--Tunnel2:Agents:ci:TokenHash={EntryTokens.HashSetting("right-token")}");
        string server = $"tls://{entry.Uplink}";
        var (unknown, text) = await RunAsync("login", server, "--token", "right-token");
        Assert.Equal(4, unknown);
        string pin = text[text.LastIndexOf("sha256:", StringComparison.Ordinal)..].Split('\n', ' ')[0];

        Assert.Equal(3, (await RunAsync("login", server, "--trust-fingerprint", pin, "--token", "wrong-token")).ExitCode);
        Assert.False(File.Exists(Path.Combine(_folder["config"], "tunnel2", "login.json")));
        var (exitCode, output) = await RunAsync("login", server, "--trust-fingerprint", pin, "--token", "right-token");
        Assert.Equal(0, exitCode);
        Assert.DoesNotContain("right-token", output, StringComparison.Ordinal);

        await using ProcessRunner agent = BuiltPrograms.StartAgent(["http", "1", "--name", "web"], Environment);
        await WaitForAsync(agent, "Forwarding http://web.");
        await Shell.InterruptAsync(agent);
        Assert.Equal(0, (await Shell.FinishAsync(agent)).ExitCode);
        Assert.Equal(0, (await RunAsync("logout")).ExitCode);
    }

    private static Task<string> WaitForAsync(ProcessRunner agent, string words) =>
        agent.WaitForLineAsync(line => line.Contains(words, StringComparison.Ordinal), Limits.Start);

    private static Uri UrlOf(RealTunnel tunnel, string name, string path) =>
        new($"http://{name}.localhost:{tunnel.Entry.Public.Port}/{path}");

    private static async Task<System.Net.HttpStatusCode> StatusAsync(HttpClient client, Uri url)
    {
        using var answer = await client.GetAsync(url, TestContext.Current.CancellationToken);
        return answer.StatusCode;
    }

    /// <summary>Writes the file in one step, as a careful program does.</summary>
    private async Task WriteAsync(string text)
    {
        await File.WriteAllTextAsync(_folder["tunnels.new"], text, TestContext.Current.CancellationToken);
        File.Move(_folder["tunnels.new"], _folder["tunnels.yml"], overwrite: true);
    }
}
