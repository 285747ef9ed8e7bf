using System.Diagnostics.Metrics;
using System.Net;
using Tunnel2.Client.Live;
using Tunnel2.Telemetry.Relay;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Live;

/// <summary><c>tunnel2 tap --host</c> beside a relay that asks for a token, and what its flags mean.</summary>
public sealed class RelayTapTests : IDisposable
{
    private readonly LiveRing _ring = new();
    private readonly Meter _meter = new("test");
    private readonly WatchedWriter _output = new();
    private readonly WatchedWriter _error = new();
    private readonly CancellationTokenSource _stop = new();

    public void Dispose()
    {
        _stop.Dispose();
        _output.Dispose();
        _error.Dispose();
        _meter.Dispose();
        _ring.Dispose();
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task The_token_comes_from_a_flag_or_from_the_environment(bool asFlag)
    {
        await using EventRelayServer relay = Start();
        _ring.Publish("web", "/first", 200, 1);
        string[] flags = ["tap", "--host", relay.LocalEndPoint.ToString(), "--from-oldest"];
        Task<int> running = RunAsync(asFlag ? [.. flags, "--token", "s3cret"] : flags, asFlag ? null : "s3cret");
        await _output.WhenAsync(static text => text.Contains("/first", StringComparison.Ordinal));
        await _stop.CancelAsync();
        Assert.Equal(0, await running.WaitAsync(AsyncCounter.DefaultTimeout, CancellationToken.None));
        Assert.DoesNotContain("s3cret", _error.Text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("guess", "the admin token is wrong")]
    [InlineData(null, "the relay wants its server's admin token (--token, or TUNNEL2_ADMIN_TOKEN)")]
    public async Task A_wrong_or_a_missing_token_ends_it_with_exit_code_3_and_no_totals(string? token, string message)
    {
        await using EventRelayServer relay = Start();
        _ring.Publish("web", "/first", 200, 1);
        Task<int> running = RunAsync(["tap", "--host", relay.LocalEndPoint.ToString(), "--from-oldest"], token);
        Assert.Equal(3, await running.WaitAsync(AsyncCounter.DefaultTimeout, CancellationToken.None));
        Assert.EndsWith("tunnel2: " + message, _error.Lines[^1], StringComparison.Ordinal);
        Assert.Equal("", _output.Text);
    }

    [Fact]
    public async Task A_relay_without_tls_where_tls_was_asked_for_is_named_and_tried_again()
    {
        await using EventRelayServer relay = Start();
        Task<int> running = RunAsync(["tap", "--host", $"tls://{relay.LocalEndPoint}"], null);
        await _error.WhenAsync(static text => text.Contains("does not speak TLS", StringComparison.Ordinal));
        await _stop.CancelAsync();
        Assert.Equal(0, await running.WaitAsync(AsyncCounter.DefaultTimeout, CancellationToken.None));
        Assert.Contains("trying again", _error.Text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("127.0.0.1", "tcp://127.0.0.1:12003")]
    [InlineData("localhost:1", "tcp://localhost:1")]
    [InlineData("tunnel.example", "tls://tunnel.example:12003")]
    [InlineData("192.0.2.1:1", "tls://192.0.2.1:1")]
    [InlineData("tls://127.0.0.1", "tls://127.0.0.1:12003")]
    [InlineData("tcp://tunnel.example", "tcp://tunnel.example:12003")]
    public void There_is_tls_unless_the_relay_is_this_machine_or_the_address_says_so(string host, string expected) =>
        Assert.Equal(expected, Parse([], null, "--host", host)!.ToString());

    [Fact]
    public void A_fingerprint_means_tls_on_this_machine_too()
    {
        RelayTarget target = Parse([], null, "--host", "127.0.0.1", "--server-fingerprint", new string('a', 64))!;
        Assert.Equal("sha256:" + new string('a', 64), Assert.Single(target.Tls!.ServerFingerprints));
    }

    [Theory]
    [InlineData("--token: needs --host", "--token", "t")]
    [InlineData("--server-ca: needs --host", "--server-ca", "f")]
    [InlineData("--token: would leave this machine unencrypted", "--host", "tcp://tunnel.example", "--token", "t")]
    [InlineData("--host: tcp:// is plaintext", "--host", "tcp://tunnel.example", "--server-ca", "f")]
    [InlineData("--server-fingerprint: ", "--host", "tunnel.example", "--server-fingerprint", "12")]
    [InlineData("--server-ca: ", "--host", "tunnel.example", "--server-ca", "/nowhere.pem")]
    public void A_mistake_names_the_flag(string message, params string[] flags)
    {
        var mistakes = new List<string>();
        Assert.Null(Parse(mistakes, null, flags));
        Assert.StartsWith(message, Assert.Single(mistakes), StringComparison.Ordinal);
    }

    [Fact]
    public void A_token_that_is_too_long_is_a_mistake()
    {
        var mistakes = new List<string>();
        Assert.Null(Parse(mistakes, null, "--host", "127.0.0.1", "--token", new string('t', RelayFrame.MaxToken + 1)));
        Assert.Contains("is longer than", Assert.Single(mistakes), StringComparison.Ordinal);
    }

    [Fact]
    public void A_private_network_may_see_the_token_where_the_environment_says_so() => Assert.NotNull(
        Parse([], static name => name == "TUNNEL2_ALLOW_PLAINTEXT" ? "1" : null, "--host", "tcp://tunnel.example", "--token", "t"));

    private static RelayTarget? Parse(List<string> mistakes, Func<string, string?>? environment, params string[] flags) =>
        RelayTarget.Parse(
            flag => Array.IndexOf(flags, flag) is >= 0 and var at ? flags[at + 1] : null, environment ?? (static _ => null), mistakes);

    private EventRelayServer Start() => new(
        _ring.Ring,
        new RelayServerOptions
        {
            Admit = static (address, token) => address.Equals(IPAddress.Loopback) && token.Span.SequenceEqual("s3cret"u8)
                ? RelayStatus.Accepted
                : RelayStatus.NotAuthorized,
        },
        _meter);

    private Task<int> RunAsync(string[] args, string? token) => Task.Run(
        () => TapCommand.RunAsync(
            args, name => name == TopCommandLine.TokenVariable ? token : null, _output, _error, _stop.Token),
        CancellationToken.None);
}
