using System.Net.Security;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Relay;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Sockets;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Tests.Live;

/// <summary>The relay as the live plane starts it, with TLS and the admin token, over real sockets.</summary>
public sealed class RelayTlsTests : IDisposable
{
    private const int RelayStartedEvent = 4003;
    private const int CertificateEvent = 4007;
    private const int HandshakeFailedEvent = 4009;

    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-relay-").FullName;
    private readonly TestMeterFactory _meters = new();
    private readonly RecordedLog<LivePlane> _log = new();
    private readonly HandshakeTurns _turns = new(1, new ContainedFaults());

    public void Dispose()
    {
        _meters.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    [Fact]
    public async Task Records_come_encrypted_to_a_client_that_has_the_token()
    {
        await using var plane = Start("Relay:Certificate=self-made", "Admin:Token=s3cret");
        Assert.Contains("TLS, with the admin token", Assert.Single(_log.Of(RelayStartedEvent)), StringComparison.Ordinal);
        var certificate = Assert.IsType<ReloadingCertificate>(plane.RelayCertificate);
        var fingerprint = certificate.Current.Fingerprint.ToString();
        Assert.EndsWith("--server-fingerprint " + fingerprint, Assert.Single(_log.Of(CertificateEvent)), StringComparison.Ordinal);

        var sink = new CountingSink();
        using var stop = new CancellationTokenSource();
        var client = new EventRelayClient(
            new RelayClientOptions
            {
                Server = plane.RelayEndPoint!,
                From = EventRingReaderOptions.FromOldest,
                Encrypt = (socket, token) => EncryptAsync(socket, fingerprint, TlsHandshake.RelayProtocol, token),
                Token = Encoding.UTF8.GetBytes("s3cret"),
            },
            sink);
        var running = client.RunAsync(stop.Token);
        var producer = plane.Ring!.CreateProducer();
        var payload = new byte[200];
        for (var i = 0; i < 20_000; i++)
        {
            BitConverter.TryWriteBytes(payload, (long)i);
            Assert.Equal(PublishStatus.Published, producer.TryPublish(1, payload));
        }

        await sink.Records.WaitForAsync(20_000);
        Assert.True(sink.IsInOrder);
        await stop.CancelAsync();
        Assert.Equal(RelayClientEnd.Closed, await running.WaitAsync(_limit, CancellationToken.None));
    }

    [Fact]
    public async Task A_wrong_token_is_refused_over_tls_too()
    {
        await using var plane = Start("Relay:Certificate=self-made", "Admin:Token=s3cret");
        var fingerprint = ((ReloadingCertificate)plane.RelayCertificate!).Current.Fingerprint.ToString();
        var client = new EventRelayClient(
            new RelayClientOptions
            {
                Server = plane.RelayEndPoint!,
                Encrypt = (socket, token) => EncryptAsync(socket, fingerprint, TlsHandshake.RelayProtocol, token),
                Token = Encoding.UTF8.GetBytes("s3creT"),
            },
            new CountingSink());
        Assert.Equal(RelayClientEnd.NotAuthorized, await RunAsync(client));
    }

    [Fact]
    public async Task A_client_in_plaintext_gets_an_answer_and_the_log_a_line()
    {
        await using var plane = Start("Relay:Certificate=self-made");
        Assert.Equal(
            RelayClientEnd.TlsRequired,
            await RunAsync(new EventRelayClient(new RelayClientOptions { Server = plane.RelayEndPoint! }, new CountingSink())));
        Assert.Contains("plaintext where TLS is expected", Assert.Single(_log.Of(HandshakeFailedEvent)), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_client_of_another_application_protocol_is_refused()
    {
        await using var plane = Start("Relay:Certificate=self-made");
        var fingerprint = ((ReloadingCertificate)plane.RelayCertificate!).Current.Fingerprint.ToString();
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(plane.RelayEndPoint!, TestContext.Current.CancellationToken);
        Assert.Null(
            await EncryptAsync(socket, fingerprint, TlsHandshake.ApplicationProtocol, TestContext.Current.CancellationToken));
        await WaitSignal.UntilAsync(() => _log.Of(HandshakeFailedEvent).Count == 1, "the log has a line", _limit);
    }

    [Fact]
    public async Task A_handshake_is_computed_in_the_turn_of_its_address()
    {
        await using var plane = Start("Relay:Certificate=self-made");
        var fingerprint = ((ReloadingCertificate)plane.RelayCertificate!).Current.Fingerprint.ToString();
        using var gate = new ManualResetEventSlim();
        var held = HoldAsync();
        await WaitSignal.UntilAsync(() => _turns.Waiting == 0, "the only turn is taken", _limit);
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(plane.RelayEndPoint!, TestContext.Current.CancellationToken);
        var shaking = EncryptAsync(socket, fingerprint, TlsHandshake.RelayProtocol, TestContext.Current.CancellationToken);
        await WaitSignal.UntilAsync(() => _turns.Waiting == 1, "the handshake waits for its turn", _limit);
        gate.Set();
        Assert.NotNull(await shaking.WaitAsync(_limit, TestContext.Current.CancellationToken));
        await held.WaitAsync(_limit, TestContext.Current.CancellationToken);

        async Task HoldAsync()
        {
            await _turns.Next(System.Net.IPAddress.Loopback);
            gate.Wait(_limit);
        }
    }

    [Fact]
    public async Task Where_the_uplink_has_the_same_certificate_the_relay_shares_it()
    {
        var settings = Settings("Relay:Listen=127.0.0.1:0", "Relay:Certificate=self-made", "Uplink:Certificate=self-made");
        var source = ProxyEntry.Certificates.SelfMadeCertificate.FindOrCreate(settings, TimeProvider.System.GetUtcNow(), out _);
        var uplink = new ReloadingCertificate(source, CertificateUse.Agents, TimeProvider.System, _log);
        await using var plane = Create(settings);
        plane.Start(uplink);
        Assert.NotNull(plane.RelayEndPoint);
        Assert.Null(plane.RelayCertificate);
        Assert.Contains(uplink.Current.Fingerprint.ToString(), Assert.Single(_log.Of(CertificateEvent)), StringComparison.Ordinal);
    }

    private static async Task<RelayTransport?> EncryptAsync(
        Socket socket, string fingerprint, SslApplicationProtocol protocol, CancellationToken cancellationToken)
    {
        var options = new SslClientAuthenticationOptions
        {
            TargetHost = "localhost",
            RemoteCertificateValidationCallback = (_, certificate, _, _) =>
                CertificateFingerprint.Of(certificate!).ToString() == fingerprint,
        };
        var result = await TlsHandshake.ConnectAsync(
            new SocketTransport(socket, isUplink: false), protocol, options, _limit, TimeProvider.System, cancellationToken);
        return result.Transport is { } tls
            ? new DelegatedRelayTransport(tls.ReceiveAsync, tls.SendAsync, tls.Abort, tls.DisposeAsync)
            : null;
    }

    private static Task<RelayClientEnd> RunAsync(EventRelayClient client) =>
        client.RunAsync(TestContext.Current.CancellationToken).WaitAsync(_limit, CancellationToken.None);

    private ProxyEntrySettings Settings(params string[] settings) => SettingsFixture.LoadValid(
        [$"Ring:File={Path.Combine(_folder, "ring")}", $"StateFolder={Path.Combine(_folder, "state")}", .. settings]);

    private LivePlane Start(params string[] settings)
    {
        var plane = Create(Settings(["Relay:Listen=127.0.0.1:0", .. settings]));
        plane.Start();
        Assert.NotNull(plane.RelayEndPoint);
        return plane;
    }

    private LivePlane Create(ProxyEntrySettings settings) =>
        new(settings, new ListedSessions(), TimeProvider.System, _meters, new ContainedFaults(), _log, turns: _turns);

    private sealed class CountingSink : IEventRelaySink
    {
        private long _next;

        public AsyncCounter Records { get; } = new("records");

        public bool IsInOrder { get; private set; } = true;

        public void OnRecord(long sequence, ushort type, ReadOnlySpan<byte> payload)
        {
            IsInOrder &= sequence == _next && BitConverter.ToInt64(payload) == sequence;
            _next = sequence + 1;
            Records.Increment();
        }

        public void OnGap(RingGap gap) => IsInOrder = false;

        public void OnSlowWarning(long behind, long limit)
        {
        }
    }
}
