using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.States;

/// <summary><c>tunnel2 status</c> and <c>ready</c>, asked of an agent of this process.</summary>
public sealed class StatusTests : IAsyncDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");
    private readonly CancellationTokenSource _stop = new();
    private readonly AsyncCounter _started = new("started");
    private IAgentEvents? _events;
    private Task<int>? _agent;

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await (_agent ?? Task.FromResult(0));
        _stop.Dispose();
        _folder.Delete(recursive: true);
    }

    private string? Environment(string name) => name == "XDG_RUNTIME_DIR" ? _folder.FullName : null;

    private async Task<(int ExitCode, string Output)> AskAsync(string line)
    {
        using var output = new StringWriter { NewLine = "\n" };
        int code = await AgentCli.RunAsync(
            line.Split(' '), Environment, static _ => throw new InvalidOperationException("must not run"), output, TextWriter.Null,
            CancellationToken.None);
        return (code, output.ToString());
    }

    private async Task StartAsync()
    {
        _agent = AgentCli.RunAsync(
            ["http", "3000", "--name", "web"], Environment, _ => new Runner(this), TextWriter.Null, TextWriter.Null, _stop.Token);
        await _started.WaitForAsync(1);
    }

    [Fact]
    public async Task Without_an_agent_the_answer_is_no()
    {
        Assert.Equal((5, "No agent of this user runs.\n"), await AskAsync("status"));
        Assert.Equal((5, "no agent of this user runs\n"), await AskAsync("ready"));
        Assert.Equal((5, "{\"agents\":[]}\n"), await AskAsync("status --json"));
    }

    [Fact]
    public async Task An_agent_says_what_its_tunnels_do()
    {
        await StartAsync();
        Assert.Equal((5, "not ready: web (connecting)\n"), await AskAsync("ready"));

        _events!.Ready(["https://web.example.com/"], new BackendTarget(false, "127.0.0.1", 3000));
        Assert.Equal((0, "ready\n"), await AskAsync("ready"));
        Assert.Equal((0, "ready\n"), await AskAsync("ready --name WEB"));
        Assert.Equal((5, "no tunnel has the name 'api'\n"), await AskAsync("ready --name api"));
        var (code, text) = await AskAsync("status");
        Assert.Equal(0, code);
        Assert.Contains("https://web.example.com -> http://127.0.0.1:3000\n", text, StringComparison.Ordinal);

        _events.BackendUnreachable(new BackendTarget(false, "127.0.0.1", 3000), "down");
        _events.ConnectionEnded(ConnectionEnd.Lost("The \u001b[31mline broke", TimeSpan.Zero));
        Assert.Equal(5, (await AskAsync("ready --json")).ExitCode);
        text = (await AskAsync("status")).Output;
        Assert.Contains("waiting", text, StringComparison.Ordinal);
        Assert.Contains("nothing listens at http://127.0.0.1:3000", text, StringComparison.Ordinal);
        Assert.DoesNotContain('\u001b', text);

        _events.ConnectionEnded(
            ConnectionEnd.RejectedPermanently(new Rejection(RejectionReason.NameTaken, "NameTaken", "")));
        Assert.Equal((5, "not ready: web (failed)\n"), await AskAsync("ready"));
    }

    [Fact]
    public async Task Only_the_owner_can_reach_the_socket_and_it_goes_with_the_agent()
    {
        await StartAsync();
        string path = Assert.Single(Directory.GetFiles(Path.Combine(_folder.FullName, "tunnel2")));
        if (!OperatingSystem.IsWindows())
        {
            Assert.Equal(
                UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute,
                File.GetUnixFileMode(Path.GetDirectoryName(path)!));
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(path));
        }

        await _stop.CancelAsync();
        await _agent!;
        Assert.Empty(Directory.GetFiles(Path.GetDirectoryName(path)!));
    }

    [Fact]
    public async Task What_an_ended_agent_has_left_is_removed_and_what_answers_wrongly_is_passed_over()
    {
        string folder = Directory.CreateDirectory(Path.Combine(_folder.FullName, "tunnel2")).FullName;
        string left = Path.Combine(folder, "1.sock");
        using (var ended = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified))
        {
            ended.Bind(new UnixDomainSocketEndPoint(left));
        }

        using var wrong = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        wrong.Bind(new UnixDomainSocketEndPoint(Path.Combine(folder, "2.sock")));
        wrong.Listen();
        Task answering = AnswerAsync();
        Assert.Equal(5, (await AskAsync("status")).ExitCode);
        await answering;
        Assert.False(File.Exists(left));

        async Task AnswerAsync()
        {
            using Socket caller = await wrong.AcceptAsync(TestContext.Current.CancellationToken);
            await caller.SendAsync("{\"pid\":\"x\"}"u8.ToArray(), TestContext.Current.CancellationToken);
            caller.Shutdown(SocketShutdown.Both);
        }
    }

    private sealed class Runner(StatusTests tests) : IAgentRunner
    {
        public async Task<int> RunAsync(AgentOptions options, IAgentEvents events, CancellationToken stop)
        {
            tests._events = events;
            var left = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            await using CancellationTokenRegistration registration = stop.Register(left.SetResult);
            tests._started.Increment();
            await left.Task;
            return 0;
        }
    }
}
