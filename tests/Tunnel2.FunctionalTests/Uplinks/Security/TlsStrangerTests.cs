using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks.Security;

/// <summary>Peers that disagree about TLS, or do not get through it.</summary>
public sealed class TlsStrangerTests : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);
    private readonly TemporaryFolder _folder = new();
    private readonly TestAuthority _authority = new();

    public TlsStrangerTests() => File.WriteAllText(_folder["uplink.pem"], _authority.Issue("127.0.0.1"));

    [Fact]
    public async Task Plaintext_on_a_tls_port_is_reported_in_plaintext_and_logged()
    {
        await using var entry = await StartAsync();
        await using (var peer = await RawUplink.ConnectAsync(entry.Uplink))
        {
            await peer.SendAsync(RawUplink.Hello().ToFrame());
            Assert.Equal(RejectCode.TlsRequired, Assert.Single(await peer.ReadToEndAsync()).Reject.Code);
            Assert.Equal(ConnectionEnding.Fin, peer.Connection.Ending);
        }

        await entry.Log.WaitForAsync(2050);
        await using var agent = AgentFixture.Start(AgentFixture.Options(entry.Uplink.Port, 9));
        Assert.Equal(3, await agent.Completion.WaitAsync(_limit));
        Assert.Contains("Write it as tls://host:port", Assert.Single(agent.Events.Ends).Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Tls_on_a_plaintext_port_is_reported_by_both_sides()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var agent = AgentFixture.Start(
            AgentFixture.Options(entry.Uplink.Port, 9) with { Tls = new TlsOptions(), ExitOnFailure = true });
        Assert.Equal(4, await agent.Completion.WaitAsync(_limit));
        Assert.Contains("speaks plaintext", Assert.Single(agent.Events.Ends).Message, StringComparison.Ordinal);
        await entry.Log.WaitForAsync(2051);
        entry.Log.AssertNoErrors();
    }

    [Theory]
    [InlineData("h2")]
    [InlineData("tunnel2/2")]
    [InlineData(null)]
    public async Task Another_application_protocol_or_none_is_refused(string? protocol)
    {
        await using var entry = await StartAsync();
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(entry.Uplink);
        await using var tls = new SslStream(new NetworkStream(socket, ownsSocket: true));
        var options = new SslClientAuthenticationOptions
        {
            TargetHost = "127.0.0.1",
            ApplicationProtocols = protocol is null ? null : [new SslApplicationProtocol(protocol)],
            RemoteCertificateValidationCallback = (_, certificate, _, _) => certificate is not null,
        };
        var error = await Record.ExceptionAsync(async () =>
        {
            await tls.AuthenticateAsClientAsync(options).WaitAsync(_limit);
            await tls.WriteAsync(RawUplink.Hello().ToFrame());
            Assert.Equal(0, await tls.ReadAsync(new byte[1]).AsTask().WaitAsync(_limit));
        });
        Assert.True(error is null or IOException or System.Security.Authentication.AuthenticationException, error?.ToString());
        Assert.Equal(0, entry.Directory.Count);
        entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task A_server_of_another_protocol_is_no_tunnel_server()
    {
        using var certificate = System.Security.Cryptography.X509Certificates.X509Certificate2.CreateFromPemFile(_folder["uplink.pem"]);
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        var serving = ServeAsync();
        await using var agent = AgentFixture.Start(AgentFixture.Options(((IPEndPoint)listener.LocalEndpoint).Port, 9) with
        {
            Tls = new TlsOptions { ServerFingerprints = [TestAuthority.Fingerprint(File.ReadAllText(_folder["uplink.pem"]))] },
            ExitOnFailure = true,
        });
        Assert.Equal(4, await agent.Completion.WaitAsync(_limit));
        Assert.Equal(ConnectFailureReason.NotTunnel2, Assert.Single(agent.Events.Ends).Failure?.Reason);
        await serving;

        async Task ServeAsync()
        {
            using var client = await listener.AcceptTcpClientAsync();
            await using var tls = new SslStream(client.GetStream());
            await tls.AuthenticateAsServerAsync(certificate);

            // No HELLO comes: the connection ends, in order or not.
            var error = await Record.ExceptionAsync(
                async () => Assert.Equal(0, await tls.ReadAsync(new byte[1]).AsTask().WaitAsync(_limit)));
            Assert.True(error is null or IOException, error?.ToString());
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(20)]
    public async Task A_peer_that_does_not_finish_tls_within_ten_seconds_is_closed(int sent)
    {
        var time = new ManualTimeProvider();
        await using var entry = await StartAsync(time);
        var limits = time.SetFor(ProtocolLimits.HandshakeTimeout);
        var before = limits.Value;
        await using var peer = await RawUplink.ConnectAsync(entry.Uplink);
        await limits.WaitForAsync(before + 1);
        await peer.Connection.WriteAsync(Convert.FromHexString("1603010200010001fc0303000102030405060708").AsMemory(0, sent));
        time.Advance(ProtocolLimits.HandshakeTimeout);
        Assert.NotEqual(ConnectionEnding.Open, await peer.Connection.WaitForEndAsync());
        entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task A_peer_that_says_nothing_after_tls_is_closed_by_the_same_limit()
    {
        var time = new ManualTimeProvider();
        await using var entry = await StartAsync(time);
        var limits = time.SetFor(ProtocolLimits.HandshakeTimeout);
        var before = limits.Value;
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(entry.Uplink);
        await limits.WaitForAsync(before + 1);
        time.Advance(ProtocolLimits.HandshakeTimeout / 2);
        await using var tls = new SslStream(new NetworkStream(socket, ownsSocket: true));
        await tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions
        {
            TargetHost = "127.0.0.1",
            ApplicationProtocols = [new SslApplicationProtocol("tunnel2/1")],
            RemoteCertificateValidationCallback = (_, certificate, _, _) => certificate is not null,
        }).WaitAsync(_limit);
        await time.SetFor(ProtocolLimits.HandshakeTimeout / 2).WaitForAsync(1);
        time.Advance(ProtocolLimits.HandshakeTimeout / 2);
        var error = await Record.ExceptionAsync(async () => Assert.Equal(0, await tls.ReadAsync(new byte[1]).AsTask().WaitAsync(_limit)));
        Assert.True(error is null or IOException, error?.ToString());
    }

    [Theory]
    [InlineData("16030100050100000100")]
    [InlineData("1503010002022a")]
    [InlineData("1603030000")]
    [InlineData("16ffffffffffffffffffffff")]
    public async Task A_broken_tls_hello_ends_its_connection_alone(string hex)
    {
        await using var entry = await StartAsync();
        await using (var peer = await RawUplink.ConnectAsync(entry.Uplink))
        {
            await peer.Connection.WriteAsync(Convert.FromHexString(hex));
            await peer.Connection.ShutdownSendAsync();
            Assert.NotEqual(ConnectionEnding.Open, await peer.Connection.WaitForEndAsync());
        }

        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, 9) with
        {
            Tls = new TlsOptions { ServerFingerprints = [TestAuthority.Fingerprint(File.ReadAllText(_folder["uplink.pem"]))] },
        });
        entry.Log.AssertNoErrors();
    }

    public void Dispose()
    {
        _authority.Dispose();
        _folder.Dispose();
    }

    private Task<EntryFixture> StartAsync(TimeProvider? time = null) =>
        EntryFixture.StartAsync(time, "Uplink:Certificate=" + _folder["uplink.pem"]);
}
