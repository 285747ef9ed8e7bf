using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text.Json;
using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Inspecting;
using Tunnel2.Protocol.Headers;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Inspecting;

public sealed class AgentInspectorTests : IDisposable
{
    private readonly StringWriter _output = new() { NewLine = "\n" };
    private readonly StringWriter _error = new() { NewLine = "\n" };

    public void Dispose()
    {
        _output.Dispose();
        _error.Dispose();
    }

    [Theory]
    [InlineData("http 3000", null, true, true)]
    [InlineData("http 3000", null, false, false)]
    [InlineData("http 3000 --inspect", null, false, true)]
    [InlineData("http 3000 --json", null, true, false)]
    [InlineData("http 3000 --json --inspect", null, true, true)]
    [InlineData("http 3000", "0", true, false)]
    [InlineData("http 3000 --inspect", "0", false, true)]
    [InlineData("http 3000 --inspect-listen off", null, true, false)]
    [InlineData("http 3000 --inspect --inspect-listen off", null, true, false)]
    [InlineData("http 3000 --inspect-listen 4041", null, false, true)]
    [InlineData("http 3000 --inspect-listen 4041", "0", false, false)]
    public void It_is_on_where_a_person_looks_or_asks_for_it(string line, string? variable, bool isTerminal, bool isOn)
    {
        var options = new AgentCommandLine().Parse(line.Split(' '), name => name == "TUNNEL2_INSPECT" ? variable : null).Options;
        Assert.Equal(isOn, AgentInspector.Decide(options!, isTerminal).Inspects);
    }

    [Theory]
    [InlineData("--inspect-listen example.com", "--inspect-listen: 'example.com' is not an address")]
    [InlineData("--inspect-megabytes 0", "--inspect-megabytes: '0' is not a number from 1 to 1024")]
    [InlineData("--inspect-hosts a/b", "--inspect-hosts: ")]
    public void Mistakes(string flags, string mistake)
    {
        var result = new AgentCommandLine().Parse($"http 3000 {flags}".Split(' '), static _ => null);
        Assert.StartsWith(mistake, result.Mistake, StringComparison.Ordinal);
    }

    [Fact]
    public void A_token_is_never_shown()
    {
        const string Secret = "0123456789abcdef";
        var options = new AgentCommandLine().Parse(
            ["http", "3000"], static name => name == "TUNNEL2_INSPECT_TOKEN" ? Secret : null).Options!;
        Assert.Equal(Secret, options.InspectorToken);
        Assert.DoesNotContain(Secret, options.ToString(), StringComparison.Ordinal);
        Assert.StartsWith(
            "TUNNEL2_INSPECT_TOKEN: has fewer",
            new AgentCommandLine().Parse(["http", "3000"], static name => name == "TUNNEL2_INSPECT_TOKEN" ? "short" : null).Mistake,
            StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_line_says_where_it_listens_and_export_writes_the_file()
    {
        var port = FreePort.Next();
        var file = Path.Combine(Directory.CreateTempSubdirectory("tunnel2-har-").FullName, "requests.har");
        var exitCode = await RunAsync(["http", "3000", "--name", "web", "--inspect-listen", $"{port}"], async options =>
        {
            options.Inspection!.Store.Begin(Block())!.OnEnded("backend", "connection refused");
            using var exportOutput = new StringWriter();
            var export = await AgentCli.RunAsync(
                ["inspect", "export", "--har", file, $"--from=127.0.0.1:{port}", "--json"],
                static _ => null,
                static _ => throw new InvalidOperationException("must not run"),
                exportOutput,
                _error,
                TestContext.Current.CancellationToken);
            Assert.Equal((0, ""), (export, _error.ToString()));
            using var written = System.Text.Json.JsonDocument.Parse(exportOutput.ToString());
            Assert.Equal(file, written.RootElement.GetProperty("file").GetString());
        });
        Assert.Equal(0, exitCode);
        Assert.Equal($"Inspect requests at http://127.0.0.1:{port}\n", _output.ToString());
        using var har = JsonDocument.Parse(await File.ReadAllTextAsync(file, TestContext.Current.CancellationToken));
        var entry = har.RootElement.GetProperty("log").GetProperty("entries")[0];
        Assert.Equal("backend: connection refused", entry.GetProperty("_error").GetString());
        Assert.Equal([file], Directory.GetFiles(Path.GetDirectoryName(file)!));
        if (!OperatingSystem.IsWindows())
        {
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(file));
        }

        Directory.Delete(Path.GetDirectoryName(file)!, recursive: true);
    }

    /// <summary>As with /dev/stdout: a file in its place would be the end of it, for all programs of the machine.</summary>
    [Fact]
    public async Task The_file_takes_the_place_of_no_pipe()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Makes a pipe with mkfifo.");
        DirectoryInfo folder = Directory.CreateTempSubdirectory("tunnel2-");
        string pipe = Path.Combine(folder.FullName, "pipe");
        using (Process make = Process.Start("mkfifo", [pipe]))
        {
            await make.WaitForExitAsync(TestContext.Current.CancellationToken);
        }

        var port = FreePort.Next();
        await RunAsync(["http", "3000", "--name", "web", "--inspect-listen", $"{port}"], async _ =>
        {
            Task<string> read = Task.Run(() => File.ReadAllText(pipe), TestContext.Current.CancellationToken);
            Assert.Equal(0, await RunAsync(
                ["inspect", "export", "--har", pipe, $"--from=127.0.0.1:{port}"],
                static _ => throw new InvalidOperationException("must not run")));
            Assert.StartsWith("{\"log\":", await read, StringComparison.Ordinal);
        });
        Assert.Equal([pipe], Directory.GetFileSystemEntries(folder.FullName));
        folder.Delete(recursive: true);
    }

    /// <summary>A page that says live while no visitor can reach the tunnel lets its user look for the fault in the service.</summary>
    [Fact]
    public async Task A_list_that_is_waited_for_says_at_once_that_the_server_is_away()
    {
        var port = FreePort.Next();
        var exitCode = await RunAsync(["http", "3000", "--name", "web", "--inspect-listen", $"{port}"], async options =>
        {
            using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false });
            Assert.True((await ListAsync("")).TryGetProperty("cutOff", out _));
            var first = options.Inspection!.Open(["http://web.example"]);
            var second = options.Inspection.Open(["http://web.example"]);
            first.Dispose();
            var list = await ListAsync("");
            Assert.False(list.TryGetProperty("cutOff", out _));
            var waiting = ListAsync($"?since={list.GetProperty("version").GetInt64()}&wait=25");
            second.Dispose();
            Assert.True((await waiting).GetProperty("cutOff").GetBoolean());

            async Task<JsonElement> ListAsync(string query)
            {
                using var json = JsonDocument.Parse(await client.GetStringAsync(
                    $"http://127.0.0.1:{port}/api/v1/sessions/web/exchanges{query}", TestContext.Current.CancellationToken));
                return json.RootElement.Clone();
            }
        });
        Assert.Equal(0, exitCode);
    }

    [Fact]
    public async Task A_file_that_cannot_be_written_is_named_as_it_was_given()
    {
        var file = Path.Combine(Directory.CreateTempSubdirectory("tunnel2-har-").FullName, "missing", "requests.har");
        var port = FreePort.Next();
        await RunAsync(["http", "3000", "--name", "web", "--inspect-listen", $"{port}"], async _ => Assert.Equal(
            AgentExitCode.InternalError,
            await RunAsync(
                ["inspect", "export", "--har", file, $"--from=127.0.0.1:{port}"],
                static _ => throw new InvalidOperationException("must not run"))));
        Assert.Contains($"'{file}'", _error.ToString(), StringComparison.Ordinal);
        Directory.Delete(Path.GetDirectoryName(Path.GetDirectoryName(file))!, recursive: true);
    }

    [Fact]
    public async Task A_port_that_is_taken_ends_no_tunnel()
    {
        using var taken = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        taken.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        taken.Listen();
        var port = ((IPEndPoint)taken.LocalEndPoint!).Port;
        var ran = false;
        var exitCode = await RunAsync(["http", "3000", "--inspect-listen", $"{port}"], options =>
        {
            ran = options.Inspection is null;
            return Task.CompletedTask;
        });
        Assert.Equal((0, true), (exitCode, ran));
        Assert.StartsWith($"The inspector is off: it cannot listen at 127.0.0.1:{port}: ", _output.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Where_the_user_names_no_port_the_next_free_one_is_taken()
    {
        using var taken = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            taken.Bind(new IPEndPoint(IPAddress.Loopback, InspectorAddress.DefaultPort));
            taken.Listen();
        }
        catch (SocketException)
        {
            // Another program has it, which is as good.
        }

        await RunAsync(["http", "3000", "--inspect"], static _ => Task.CompletedTask);
        Assert.Matches("^Inspect requests at http://127\\.0\\.0\\.1:404[1-9] \\(port 4040 is taken\\)\n$", _output.ToString());
    }

    [Theory]
    [InlineData("{}")]
    [InlineData("""{"sessions":[1]}""")]
    [InlineData("""{"sessions":[{}]}""")]
    [InlineData("""{"sessions":[{"name":null}]}""")]
    [InlineData("""{"sessions":[{"name":"\ud800"}]}""")]
    public async Task What_answers_as_no_inspector_does_is_said_to_be_none(string answer)
    {
        await using RawTcpServer server = RawTcpServer.StartAnswering(
            $"HTTP/1.1 200 OK\r\nContent-Length: {answer.Length}\r\nConnection: close\r\n\r\n{answer}");
        Assert.Equal(4, await RunAsync(
            ["inspect", "export", "--har", "-", $"--from=127.0.0.1:{server.Port}"],
            static _ => throw new InvalidOperationException("must not run")));
        Assert.Contains("no inspector answers", _error.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("inspect", "'inspect' needs one of these after it: export")]
    [InlineData("inspect export", "--har: is missing")]
    [InlineData("inspect export --har", "--har: lacks its value")]
    [InlineData("inspect export --har a --har b", "--har: is given more than once")]
    [InlineData("inspect export --har a --from a:b:c", "--from: ")]
    [InlineData("inspect export --har a --nonsense", "--nonsense: unknown flag")]
    [InlineData("inspect export --har a more", "'more': not understood")]
    [InlineData("inspect export --har a --from ftp://127.0.0.1", "--from: begins with http:// or https://")]
    [InlineData("inspect export --har a --from http://", "--from: '' lacks a host")]
    [InlineData("inspect export --har a --from http://a/session/web", "--from: is the address alone")]
    [InlineData("inspect export --har a --from http://a/?x=1", "--from: is the address alone")]
    [InlineData("inspect export --har a --from http://a:0", "--from: '0' is not a port")]
    [InlineData("inspect export --har a --from http://u:hidden@a", "--from: has no user and password")]
    [InlineData("inspect export --har a --from http://10.0.0.1 --token hidden", "--token: would leave this machine unencrypted")]
    [InlineData("inspect export --har a --from 10.0.0.1 --token hidden", "--token: would leave this machine unencrypted")]
    public async Task Mistakes_of_inspect(string line, string mistake)
    {
        Assert.Equal(2, await RunAsync(line.Split(' '), static _ => throw new InvalidOperationException("must not run")));
        Assert.StartsWith("tunnel2: " + mistake, _error.ToString(), StringComparison.Ordinal);
        Assert.Contains("Usage: tunnel2 inspect export", _error.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("hidden", _error.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("", "http://127.0.0.1:4040/", "agents")]
    [InlineData("--from 10.0.0.1", "http://10.0.0.1:4040/", "agents")]
    [InlineData("--from [::1]:7", "http://[::1]:7/", "agents")]
    [InlineData("--from 127.0.0.1 --token given", "http://127.0.0.1:4040/", "given")]
    [InlineData("--from http://127.0.0.1:12002", "http://127.0.0.1:12002/", "admins")]
    [InlineData("--from HTTP://localhost:12002/inspector/#/web/", "http://localhost:12002/", "admins")]
    [InlineData("--from http://[::1]:12002/inspector", "http://[::1]:12002/", "admins")]
    [InlineData("--from https://t.example/", "https://t.example/", "admins")]
    [InlineData("--from https://t.example:8443 --token given", "https://t.example:8443/", "given")]
    public void Whose_inspector_is_asked_and_with_which_token(string flags, string from, string token)
    {
        string[] words = ["inspect", "export", "--har", "a", .. flags.Split(' ', StringSplitOptions.RemoveEmptyEntries)];
        var options = InspectOptions.Parse(
            words,
            static name => name switch { "TUNNEL2_INSPECT_TOKEN" => "agents", "TUNNEL2_ADMIN_TOKEN" => "admins", _ => null },
            out var mistake);
        Assert.Null(mistake);
        Assert.Equal((from, token), (options!.From.AbsoluteUri, options.Token));
    }

    [Fact]
    public void A_url_takes_the_token_of_an_agent_where_there_is_no_other_and_an_address_never_that_of_a_server()
    {
        Assert.Equal("agents", Parse("https://a", "TUNNEL2_INSPECT_TOKEN", "agents")!.Token);
        Assert.Null(Parse("127.0.0.1:12002", "TUNNEL2_ADMIN_TOKEN", "admins")!.Token);
        Assert.Null(Parse("http://a", "TUNNEL2_ADMIN_TOKEN", "admins"));
        Assert.Equal("admins", Parse("http://a", "TUNNEL2_ADMIN_TOKEN", "admins", "1")!.Token);

        static InspectOptions? Parse(string from, string variable, string token, string? allow = null) => InspectOptions.Parse(
            ["inspect", "export", "--har", "a", "--from", from],
            name => name == variable ? token : name == "TUNNEL2_ALLOW_PLAINTEXT" ? allow : null,
            out _);
    }

    [Fact]
    public async Task An_inspector_that_is_not_there()
    {
        using var refused = new RefusedPort();
        var line = $"inspect export --har a --from 127.0.0.1:{refused.Port}";
        Assert.Equal(4, await RunAsync(line.Split(' '), static _ => throw new InvalidOperationException("must not run")));
        Assert.StartsWith("tunnel2: no inspector answers at 127.0.0.1:", _error.ToString(), StringComparison.Ordinal);
    }

    private static byte[] Block()
    {
        var buffer = new byte[100];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginRequest(HeaderBlockFlags.None, "GET"u8, "http"u8, "web"u8, "/"u8);
        return buffer[..writer.Complete()];
    }

    private Task<int> RunAsync(string[] args, Func<AgentOptions, Task> run) => AgentCli.RunAsync(
        args, static _ => null, _ => new Runner(run), _output, _error, TestContext.Current.CancellationToken);

    private sealed class Runner(Func<AgentOptions, Task> run) : IAgentRunner
    {
        public async Task<int> RunAsync(AgentOptions options, IAgentEvents events, CancellationToken stop)
        {
            await run(options);
            return 0;
        }
    }
}
