using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Cli;

public sealed class HashPasswordCommandTests : IDisposable
{
    private readonly StringWriter _output = new() { NewLine = "\n" };
    private readonly StringWriter _error = new() { NewLine = "\n" };

    public void Dispose()
    {
        _output.Dispose();
        _error.Dispose();
    }

    [Fact]
    public async Task A_password_becomes_a_user_with_its_hash()
    {
        Assert.Equal(0, await RunAsync("hash-password alice", "top secret"));
        Assert.True(AccessUser.TryParse(_output.ToString().TrimEnd('\n'), out AccessUser? user));
        Assert.Equal(("alice", true, PasswordHash.UsualIterations), (user!.Name, user.Hash.Matches("top secret"u8), user.Hash.Iterations));
        Assert.DoesNotContain("top secret", _output.ToString(), StringComparison.Ordinal);
        Assert.Empty(_error.ToString());
    }

    [Fact]
    public async Task For_programs_it_is_an_object()
    {
        Assert.Equal(0, await RunAsync("hash-password alice --json", "top secret"));
        using var json = System.Text.Json.JsonDocument.Parse(_output.ToString());
        Assert.Equal("alice", json.RootElement.GetProperty("user").GetString());
        Assert.True(AccessUser.TryParse($"alice:{json.RootElement.GetProperty("hash").GetString()}", out AccessUser? user));
        Assert.True(user!.Hash.Matches("top secret"u8));
    }

    [Theory]
    [InlineData("hash-password", "x", "takes one user's name")]
    [InlineData("hash-password alice topsecret", "x", "takes one user's name")]
    [InlineData("hash-password a:topsecret", "x", "without colon")]
    [InlineData("hash-password alice", null, "the password is empty")]
    [InlineData("hash-password alice", "", "the password is empty")]
    [InlineData("hash-password alice", "topsecret\u0007", "control characters")]
    public async Task A_mistake_shows_no_password(string line, string? password, string words)
    {
        Assert.Equal(2, await RunAsync(line, password));
        Assert.Contains(words, _error.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("topsecret", _error.ToString(), StringComparison.Ordinal);
        Assert.Empty(_output.ToString());
    }

    [Fact]
    public async Task A_stop_does_not_wait_for_the_password()
    {
        using var stop = new CancellationTokenSource();
        using var never = new ManualResetEventSlim();
        Task<int> run = AgentCli.RunAsync(
            ["hash-password", "alice"],
            static _ => null,
            static _ => throw new InvalidOperationException("No agent runs."),
            _output,
            _error,
            stop.Token,
            readSecret: () =>
            {
                // As Ctrl+C at the prompt.
                stop.Cancel();
                never.Wait(TestContext.Current.CancellationToken);
                return null;
            });
        Assert.Equal(1, await run.WaitAsync(AsyncCounter.DefaultTimeout, TestContext.Current.CancellationToken));
        never.Set();
        Assert.Equal("tunnel2: stopped\n", _error.ToString());
        Assert.Empty(_output.ToString());
    }

    private Task<int> RunAsync(string line, string? password) => AgentCli.RunAsync(
        line.Split(' '),
        static _ => null,
        static _ => throw new InvalidOperationException("No agent runs."),
        _output,
        _error,
        CancellationToken.None,
        readPiped: () => password);
}
