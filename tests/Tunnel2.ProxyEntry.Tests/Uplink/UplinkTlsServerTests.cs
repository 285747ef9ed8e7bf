using System.IO.Pipelines;
using System.Net;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

/// <summary>An agent's TLS handshake, in memory: who it is afterwards, and what one that fails gets to know.</summary>
public sealed class UplinkTlsServerTests : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(30);

    private readonly string _file = Path.GetTempFileName();
    private readonly ManualTimeProvider _time = new();
    private readonly RecordedMetrics _metrics = new();
    private readonly RecordedLog<UplinkTlsServer> _log = new();
    private readonly RecordedLog<UplinkRejection> _rejections = new();
    private readonly X509Certificate2 _agents = MakeAgents();
    private readonly HandshakeTurns _turns = new(1, new ContainedFaults());
    private readonly InMemoryTransport _own;
    private readonly InMemoryTransport _servers;

    public UplinkTlsServerTests() => (_servers, _own) = InMemoryTransport.CreatePair(64 * 1024, PipeScheduler.ThreadPool);

    [Fact]
    public async Task An_agent_that_is_not_asked_for_a_certificate_has_none()
    {
        var (server, agent) = await ShakeHandsAsync(Make(), shows: true);
        Assert.Null(server.Peer.Certificate);
        Assert.Equal(7, server.Peer.Connected);
        await agent!.SendAsync("hello"u8.ToArray());
        var buffer = new byte[10];
        Assert.Equal(5, await server.Transport!.ReceiveAsync(buffer));
        Assert.Equal("hello"u8, buffer.AsSpan(0, 5));
        Assert.Empty(_log.Lines);
        await DisposeAsync(server.Transport, agent);
    }

    [Fact]
    public async Task A_certificate_that_some_agent_may_show_is_asked_for_and_proves_no_authority()
    {
        var fingerprint = CertificateFingerprint.Of(_agents);
        var table = new AgentTable([new AgentSettings("a", null, [], null) { CertificateFingerprint = fingerprint }]);
        var (server, agent) = await ShakeHandsAsync(Make(table), shows: true);
        Assert.Equal(new AgentCertificate(fingerprint, "shop", IsIssuedByClientCa: false), server.Peer.Certificate);
        await DisposeAsync(server.Transport, agent);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Only_what_the_agents_authority_issued_counts_as_issued(bool isIssued)
    {
        using var other = MakeAgents();
        var (server, agent) = await ShakeHandsAsync(Make(authorities: [isIssued ? _agents : other]), shows: true);
        Assert.Equal(new AgentCertificate(CertificateFingerprint.Of(_agents), "shop", isIssued), server.Peer.Certificate);
        await DisposeAsync(server.Transport, agent);
    }

    [Fact]
    public async Task An_agent_that_is_asked_may_have_no_certificate()
    {
        var (server, agent) = await ShakeHandsAsync(Make(authorities: [_agents]), shows: false);
        Assert.Null(server.Peer.Certificate);
        await DisposeAsync(server.Transport, agent);
    }

    [Fact]
    public async Task An_agent_that_speaks_plaintext_is_asked_to_use_TLS()
    {
        var opening = OpenAsync(Make());
        await _own.SendAsync(AcceptorFixture.Hello().ToFrame());
        var answer = await HandshakeFrameReader.ReadAsync(
            _own, static _ => true, _limit, TimeProvider.System, TestContext.Current.CancellationToken);
        Assert.Equal(ProtocolError.None, RejectMessage.TryRead(answer.Payload.Span, out var reject));
        Assert.Equal(
            (RejectCode.TlsRequired, TimeSpan.Zero, "This server expects TLS on the uplink."),
            (reject!.Code, reject.RetryAfter, reject.Text));
        _own.ShutdownSend();
        Assert.Null((await opening).Transport);
        Assert.Single(_log.Of(2050));
        Assert.Equal(1, _metrics["tunnel2.entry.sessions.rejected:TlsRequired"]);
        Assert.False(_servers.IsDisposed);
    }

    [Fact]
    public async Task An_agent_that_leaves_is_a_line_in_the_log()
    {
        var opening = OpenAsync(Make());
        _own.ShutdownSend();
        Assert.Null((await opening).Transport);
        Assert.StartsWith(
            "Uplink connection from memory ended before its handshake: TLS Closed", Assert.Single(_log.Of(2005)), StringComparison.Ordinal);
        Assert.Empty(_rejections.Lines);
    }

    [Fact]
    public async Task An_agent_that_says_nothing_has_the_time_of_any_handshake()
    {
        var opening = OpenAsync(Make());
        _time.Advance(ProtocolLimits.HandshakeTimeout - TimeSpan.FromMilliseconds(1));
        Assert.False(opening.IsCompleted);
        _time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.Null((await opening).Transport);
        Assert.Contains("TLS TimedOut", Assert.Single(_log.Of(2005)), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_handshake_is_computed_in_the_turn_of_its_address()
    {
        using var gate = new ManualResetEventSlim();
        var held = HoldAsync();
        await WaitSignal.UntilAsync(() => _turns.Waiting == 0, "the only turn is taken");
        var shaking = ShakeHandsAsync(Make(), shows: false);
        await WaitSignal.UntilAsync(() => _turns.Waiting == 1, "the handshake waits for its turn");
        gate.Set();
        var (server, agent) = await shaking.WaitAsync(_limit);
        Assert.NotNull(server.Transport);
        await held.WaitAsync(_limit);
        await DisposeAsync(server.Transport, agent);

        async Task HoldAsync()
        {
            await _turns.Next(IPAddress.Loopback);
            gate.Wait(_limit);
        }
    }

    public void Dispose()
    {
        File.Delete(_file);
        _metrics.Dispose();
        _agents.Dispose();
    }

    private static X509Certificate2 MakeAgents()
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var now = TimeProvider.System.GetUtcNow();
        return new CertificateRequest("CN=shop", key, HashAlgorithmName.SHA256).CreateSelfSigned(now.AddDays(-1), now.AddDays(1));
    }

    private UplinkTlsServer Make(AgentTable? table = null, X509Certificate2Collection? authorities = null)
    {
        using var certificate = TestUtilities.SelfMadeCertificate.Create();
        File.WriteAllText(_file, TestUtilities.SelfMadeCertificate.ToPem(certificate));
        var shown = new ReloadingCertificate(new CertificateSource(_file, null, null), CertificateUse.Agents, TimeProvider.System, _log);
        return new UplinkTlsServer(
            shown,
            authorities,
            new AgentRegistry(table ?? new AgentTable([])),
            new UplinkRejection(new ProxyEntryMetrics(_metrics.Factory), _time, _rejections),
            _turns,
            _time,
            _log);
    }

    private Task<(IUplinkTransport? Transport, UplinkPeer Peer)> OpenAsync(UplinkTlsServer server) =>
        server.OpenAsync(_servers, new UplinkPeer(null, Connected: 7), TestContext.Current.CancellationToken);

    private async Task<((IUplinkTransport? Transport, UplinkPeer Peer) Server, TlsTransport? Agent)> ShakeHandsAsync(
        UplinkTlsServer server, bool shows)
    {
        var opening = OpenAsync(server);
        var options = new SslClientAuthenticationOptions
        {
            TargetHost = "localhost",
            RemoteCertificateValidationCallback = static (_, certificate, _, _) => certificate is not null,
            LocalCertificateSelectionCallback = shows ? (_, _, _, _, _) => _agents : null,
        };
        var result = await TlsHandshake.ConnectAsync(_own, options, _limit, TimeProvider.System, TestContext.Current.CancellationToken);
        Assert.Equal(TlsHandshakeStatus.Done, result.Status);
        return (await opening, result.Transport);
    }

    private static async Task DisposeAsync(IUplinkTransport? server, TlsTransport? agent)
    {
        await agent!.DisposeAsync();
        await server!.DisposeAsync();
    }
}
