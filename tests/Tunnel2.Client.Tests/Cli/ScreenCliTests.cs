using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Tests.Terminals;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Cli;

/// <summary>When the program takes the terminal, and what it leaves there.</summary>
public sealed class ScreenCliTests : IDisposable
{
    private readonly StringWriter _output = new() { NewLine = "\n" };
    private readonly StringWriter _error = new() { NewLine = "\n" };
    private readonly FakeTerminal _terminal = new();
    private int _opened;

    private sealed class FakeRunner(Func<AgentOptions, IAgentEvents, Task<int>> run) : IAgentRunner
    {
        public Task<int> RunAsync(AgentOptions options, IAgentEvents events, CancellationToken stop) => run(options, events);
    }

    public void Dispose()
    {
        _output.Dispose();
        _error.Dispose();
    }

    private Task<int> RunAsync(string line, Func<AgentOptions, IAgentEvents, Task<int>> run, Func<string, string?>? environment = null) =>
        AgentCli.RunAsync(
            line.Split(' '), environment ?? (static _ => null), _ => new FakeRunner(run), _output, _error, CancellationToken.None,
            new ManualTimeProvider(),
            () =>
            {
                _opened++;
                return _terminal;
            });

    [Fact]
    public async Task On_a_terminal_requests_are_wanted_and_the_last_lines_follow_the_screen()
    {
        int code = await RunAsync("http 3000 --name web", static (options, events) =>
        {
            Assert.True(events.WantsRequests);
            events.Ready(["http://127.0.0.1:12000/"], options.Upstream);
            events.RequestCompleted(new RequestSummary("GET", "/", 200, TimeSpan.Zero, 0, 0));
            events.Stopped();
            return Task.FromResult(0);
        });

        Assert.Equal(0, code);
        Assert.Equal("Forwarding http://127.0.0.1:12000 -> http://127.0.0.1:3000\n1 request, 0 failed\nStopped\n", _output.ToString());
        Assert.False(_terminal.IsRaw);
        Assert.False(_terminal.Screen.IsAlternate);
        Assert.Empty(_error.ToString());
    }

    [Fact]
    public async Task A_fault_is_read_after_the_screen()
    {
        Assert.Equal(1, await RunAsync("http 3000", static (_, _) => throw new InvalidOperationException("broken")));
        Assert.StartsWith("tunnel2: internal error: System.InvalidOperationException: broken", _error.ToString(), StringComparison.Ordinal);
        Assert.False(_terminal.Screen.IsAlternate);
    }

    [Theory]
    [InlineData("http 3000", 1)]
    [InlineData("--name web http 3000", 1)]
    [InlineData("http 3000 --json", 0)]
    [InlineData("http 3000 --plain", 0)]
    [InlineData("http 3000 --verbose", 0)]
    [InlineData("--dev-session-id 0b9c8e3c-9d5e-4e5b-9c41-0a2f4a7a1c11 --backend-port 3000", 0)]
    [InlineData("http", 0)]
    [InlineData("http --help", 0)]
    public async Task Only_http_without_a_wish_for_lines_opens_it(string line, int opened)
    {
        await RunAsync(line, static (_, _) => Task.FromResult(0));
        Assert.Equal(opened, _opened);
    }

    [Fact]
    public async Task The_variable_asks_for_lines_too()
    {
        await RunAsync("http 3000", static (_, _) => Task.FromResult(0), static name => name == "TUNNEL2_PLAIN" ? "1" : null);
        Assert.Equal(0, _opened);
    }
}
