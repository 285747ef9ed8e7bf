using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks.Security;

/// <summary>Whom an agent trusts, and how it says why it does not.</summary>
[Trait("Engine", "each")]
public sealed class ServerTrustTests : IDisposable
{
    private const string Address = "127.0.0.1";
    private readonly TemporaryFolder _folder = new();
    private readonly TestAuthority _authority = new();

    [Fact]
    public async Task Bodies_go_both_ways_through_a_tunnel_whose_server_an_authority_vouches_for()
    {
        Write("uplink.pem", _authority.Issue(Address));
        Write("ca.pem", _authority.Pem);
        await TunnelFixture.RunAsync(
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                foreach (var length in new[] { 0, 1, 16_384, 100_000, 5_000_000 })
                {
                    var (head, body) = await visitor.ExchangeAsync($"/bytes/{length}", TunnelFixture.Host);
                    Assert.Equal((200, length), (head.StatusCode, body.Bytes.Length));
                    PatternBytes.Verify(body.Bytes, 0);
                    await visitor.WriteAsync(
                        $"POST /sink?hash=1 HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: {length}\r\n\r\n");
                    await visitor.WriteAsync(body.Bytes);
                    var answer = await visitor.ReadHeadAsync();
                    Assert.Contains(PatternBytes.Sha256Hex(length), (await visitor.ReadBodyAsync(answer)).Text(), StringComparison.Ordinal);
                }
            },
            new TunnelSetup
            {
                Settings = ["Uplink:Certificate=" + _folder["uplink.pem"]],
                Agent = options => options with { Tls = new TlsOptions { ServerCaFile = _folder["ca.pem"] } },
            });
    }

    [Theory]
    [InlineData(Address, -1, 1)]
    [InlineData("some.other.name", -30, -20)]
    public async Task A_pinned_certificate_is_trusted_with_any_name_and_dates(string name, int from, int to)
    {
        var pem = _authority.Issue(name, from: from, to: to);
        await using var entry = await StartEntryAsync(pem);
        await using var agent = await AgentFixture.StartReadyAsync(
            Options(entry, new TlsOptions { ServerFingerprints = ["sha256:" + new string('0', 64), TestAuthority.Fingerprint(pem)] }));
        Assert.Equal(0, await agent.StopAsync());
    }

    [Fact]
    public async Task Another_certificate_than_the_pinned_one_is_refused_even_from_a_good_authority()
    {
        await using var entry = await StartEntryAsync(_authority.Issue(Address));
        await AssertRefusedAsync(
            Options(entry, new TlsOptions { ServerFingerprints = [TestAuthority.Fingerprint(_authority.Issue(Address))] }),
            "not the one given");
    }

    [Theory]
    [InlineData("tunnel.example", -1, 1, "is for 'tunnel.example', not for '127.0.0.1'")]
    [InlineData(Address, -3, -1, "has expired on")]
    [InlineData(Address, 1, 3, "is it right?")]
    public async Task A_wrong_name_or_date_is_said(string name, int from, int to, string words)
    {
        Write("ca.pem", _authority.Pem);
        await using var entry = await StartEntryAsync(_authority.Issue(name, from: from, to: to));
        await AssertRefusedAsync(Options(entry, new TlsOptions { ServerCaFile = _folder["ca.pem"] }), words);
    }

    [Fact]
    public async Task A_certificate_of_another_authority_is_refused_and_its_fingerprint_named()
    {
        var pem = _authority.Issue(Address);
        using var other = new TestAuthority("Somebody else");
        Write("ca.pem", other.Pem);
        await using var entry = await StartEntryAsync(pem);
        await AssertRefusedAsync(
            Options(entry, new TlsOptions { ServerCaFile = _folder["ca.pem"] }), TestAuthority.Fingerprint(pem)["sha256:".Length..]);
        await AssertRefusedAsync(Options(entry, new TlsOptions()), "--server-fingerprint");
    }

    [Fact]
    public async Task A_token_goes_out_only_when_the_server_is_the_right_one()
    {
        await using var entry = await StartEntryAsync(
            _authority.Issue(Address), "AllowAnonymousAgents=false", "Agents:a:TokenHash=" + EntryTokens.HashSetting("t"));
        await AssertRefusedAsync(
            Options(entry, new TlsOptions { ServerFingerprints = ["sha256:" + new string('0', 64)] }) with { Token = "wrong" },
            "not the one given");

        // Nothing was rejected: no HELLO has come.
        Assert.DoesNotContain(entry.Log.All, static line => line.EventId == 2002);
    }

    public void Dispose()
    {
        _authority.Dispose();
        _folder.Dispose();
    }

    private static AgentOptions Options(EntryFixture entry, TlsOptions tls) =>
        AgentFixture.Options(entry.Uplink.Port, 9) with { Tls = tls };

    private static async Task AssertRefusedAsync(AgentOptions options, string words)
    {
        await using var agent = AgentFixture.Start(options with { ExitOnFailure = true });
        Assert.Equal(4, await agent.Completion.WaitAsync(TimeSpan.FromSeconds(20)));
        var end = Assert.Single(agent.Events.Ends);
        Assert.Equal(ConnectFailureReason.TlsFailed, end.Failure?.Reason);
        Assert.Contains(words, end.Message, StringComparison.OrdinalIgnoreCase);
        Assert.Equal(0, agent.Events.ReadyCount.Value);
    }

    private Task<EntryFixture> StartEntryAsync(string pem, params string[] settings)
    {
        Write("uplink.pem", pem);
        return EntryFixture.StartAsync(null, ["Uplink:Certificate=" + _folder["uplink.pem"], .. settings]);
    }

    private void Write(string file, string text) => File.WriteAllText(_folder[file], text);
}
