using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Logins;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Commands;

public sealed class LoginCommandTests : IDisposable
{
    private const string Pin = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    private const string OtherPin = "sha256:ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");
    private readonly StringWriter _output = new() { NewLine = "\n" };
    private readonly StringWriter _error = new() { NewLine = "\n" };
    private readonly List<AgentOptions> _trials = [];
    private string? _variable;

    public void Dispose()
    {
        _output.Dispose();
        _error.Dispose();
        _folder.Delete(recursive: true);
    }

    /// <summary>A server with a certificate of its own, which wants the token <c>right</c>. It has visitors at the port 443.</summary>
    private static ConnectionEnd? Serve(AgentOptions options) =>
        options.Server.Port == 443
            ? ConnectionEnd.Unreachable(ConnectFailure.Create(options.Server, ConnectFailureReason.PublicPort))
            : options.Tls is null ? Refuse(RejectionReason.TlsRequired)
            : options.Tls is { ServerFingerprints.Count: 0 }
            ? ConnectionEnd.Unreachable(ConnectFailure.Create(options.Server, ConnectFailureReason.TlsFailed, "unknown") with
            {
                UntrustedFingerprint = Pin,
            })
            : options.Tls is { ServerFingerprints: [not Pin] }
                ? ConnectionEnd.Unreachable(ConnectFailure.Create(options.Server, ConnectFailureReason.TlsFailed, "another"))
                : options.Token switch
                {
                    "right" => null,
                    "named" => Refuse(RejectionReason.NameNotAllowed),
                    _ => Refuse(RejectionReason.Unauthorized),
                };

    private static ConnectionEnd Refuse(RejectionReason reason) =>
        ConnectionEnd.RejectedPermanently(new Rejection(reason, reason.ToString(), ""));

    private string? Environment(string name) => name switch
    {
        "XDG_CONFIG_HOME" => _folder.FullName,
        "TUNNEL2_TOKEN" => _variable,
        _ => null,
    };

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_stop_does_not_wait_for_an_answer(bool isAskedForTrust)
    {
        using var stop = new CancellationTokenSource();
        using var never = new ManualResetEventSlim();
        string? Wait()
        {
            // As Ctrl+C at the question.
            stop.Cancel();
            never.Wait(TestContext.Current.CancellationToken);
            return null;
        }

        using var input = isAskedForTrust ? new SlowReader(Wait) : (TextReader)new StringReader("y\n");
        Task<int> run = AgentCli.RunAsync(
            ["login", "h.example"], Environment, _ => new Runner(this), _output, _error, stop.Token,
            openInput: () => input, readSecret: Wait);
        Assert.Equal(1, await run.WaitAsync(AsyncCounter.DefaultTimeout, TestContext.Current.CancellationToken));
        never.Set();
        Assert.EndsWith("\ntunnel2: stopped; nothing is stored\n", _error.ToString(), StringComparison.Ordinal);
        Assert.Null(Stored());
    }

    private Task<int> RunAsync(string line, string? answers = null, string? secret = null) => AgentCli.RunAsync(
        line.Split(' '), Environment, _ => new Runner(this), _output, _error, CancellationToken.None,
        openInput: () => answers is null ? null : new StringReader(answers),
        readSecret: () => secret);

    private StoredLogin? Stored() => StoredLogin.TryRead(Environment, out _);

    [Fact]
    public async Task Server_trust_and_token_are_checked_and_stored()
    {
        Assert.Equal(0, await RunAsync("login h.example", "y\n", "right"));
        Assert.Equal(("h.example", "right", Pin), (Stored()!.Server, Stored()!.Token, Stored()!.Fingerprint));
        Assert.Contains(Pin, _error.ToString(), StringComparison.Ordinal);
        Assert.StartsWith("Logged in to h.example; stored in ", _output.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("right", _output.ToString() + _error, StringComparison.Ordinal);
        Assert.All(_trials.Take(2), static options => Assert.Null(options.Token));
        Assert.All(_trials, static options => Assert.True(options is { ExitOnFailure: true, WatchesBackend: false, Uplinks.Count: 1 }));

        Assert.Equal(0, await RunAsync("logout --json"));
        Assert.Null(Stored());
        Assert.Equal(0, await RunAsync("logout --json"));
        Assert.EndsWith("\n{\"removed\":true}\n{\"removed\":false}\n", _output.ToString(), StringComparison.Ordinal);
        Assert.Equal(0, await RunAsync("logout"));
        Assert.EndsWith("\nThere is no login.\n", _output.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("right", "The login is removed. The server still knows the token: its operator can withdraw it.\n")]
    [InlineData(null, "The login is removed. It had no token.\n")]
    public async Task Logging_out_speaks_of_a_token_only_where_there_was_one(string? token, string words)
    {
        new StoredLogin(StoredLogin.PathFor(Environment)!, "h.example") { Token = token }.Write();
        Assert.Equal(0, await RunAsync("logout"));
        Assert.Equal(words, _output.ToString());
        Assert.Null(Stored());
    }

    [Fact]
    public async Task Without_a_person_everything_comes_from_flags_and_variables()
    {
        _variable = "right";
        Assert.Equal(0, await RunAsync($"login h.example --trust-fingerprint {Pin} --json"));
        Assert.Equal(("right", Pin), (Stored()!.Token, Stored()!.Fingerprint));
        using var json = System.Text.Json.JsonDocument.Parse(_output.ToString());
        Assert.True(json.RootElement.GetProperty("has_token").GetBoolean());
        Assert.Empty(_error.ToString());
    }

    [Theory]
    [InlineData("login h.example", null, null, 4)]
    [InlineData("login h.example", "n\n", "right", 4)]
    [InlineData("login h.example", "\n", "right", 4)]
    [InlineData("login h.example", "y\n", "wrong", 3)]
    [InlineData("login h.example", "y\n", null, 3)]
    [InlineData("login h.example", "y\n", "", 3)]
    [InlineData("login h.example --token wrong", "y\n", "right", 3)]
    [InlineData("login h.example --trust-fingerprint " + OtherPin, "y\n", "right", 4)]
    [InlineData("login h.example --trust-fingerprint abc", null, null, 2)]
    [InlineData("login a:b:c", null, null, 2)]
    public async Task What_is_not_right_is_not_stored(string line, string? answers, string? secret, int exitCode)
    {
        Assert.Equal(exitCode, await RunAsync(line, answers, secret));
        Assert.Null(Stored());
        Assert.NotEmpty(_error.ToString());
        Assert.DoesNotContain("wrong", _error.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("login https://h.example", "tunnel2: SERVER: 'https://' does not belong here")]
    [InlineData("login h.example:x", "tunnel2: SERVER: 'x' is not a port")]
    [InlineData("login h.example --trust-fingerprint abc", "tunnel2: --trust-fingerprint: 'abc' is not")]
    [InlineData("login 127.0.0.1:12001", "tunnel2: The server expects TLS. Write it as tls://host:port ")]
    [InlineData("login h.example:443", "tunnel2: Something else than a Tunnel2 server answers at h.example:443.")]
    public async Task A_mistake_names_what_login_has(string line, string mistake)
    {
        Assert.NotEqual(0, await RunAsync(line, null, null));
        Assert.StartsWith(mistake, _error.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("--server ", _error.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_untrusted_certificate_is_not_sent_a_token()
    {
        Assert.Equal(4, await RunAsync("login h.example --token right"));
        Assert.Contains($"--trust-fingerprint {Pin}", _error.ToString(), StringComparison.Ordinal);
        Assert.Single(_trials);
    }

    [Fact]
    public async Task A_certificate_of_another_authority_than_the_named_one_is_not_asked_about()
    {
        using var authority = SelfMadeCertificate.Create();
        string file = Path.Combine(_folder.FullName, "ca.pem");
        await File.WriteAllTextAsync(file, SelfMadeCertificate.ToPem(authority), TestContext.Current.CancellationToken);
        Assert.Equal(4, await RunAsync($"login h.example --server-ca {file}", "y\n", "right"));
        Assert.Contains($"--trust-fingerprint {Pin}", _error.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("[y/N]", _error.ToString(), StringComparison.Ordinal);
        Assert.Null(Stored());
    }

    [Fact]
    public async Task A_token_for_certain_names_is_stored_with_a_note()
    {
        Assert.Equal(0, await RunAsync($"login h.example --token named --trust-fingerprint {Pin}"));
        Assert.Contains("The token is for certain names", _output.ToString(), StringComparison.Ordinal);
        Assert.EndsWith("Try: tunnel2 http 3000 --name NAME\n", _output.ToString(), StringComparison.Ordinal);
        Assert.Equal("named", Stored()!.Token);
    }

    private sealed class Runner(LoginCommandTests tests) : IAgentRunner
    {
        public Task<int> RunAsync(AgentOptions options, IAgentEvents events, CancellationToken stop)
        {
            tests._trials.Add(options);
            if (Serve(options) is { } end)
            {
                events.ConnectionEnded(end);
                return Task.FromResult(4);
            }

            events.Ready(["https://x.h.example"], options.Upstream);
            return Task.FromResult(0);
        }
    }

    private sealed class SlowReader(Func<string?> read) : TextReader
    {
        public override string? ReadLine() => read();
    }
}
