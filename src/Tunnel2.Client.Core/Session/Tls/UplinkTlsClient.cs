using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Transport.Tls;

namespace Tunnel2.Client.Core.Session.Tls;

/// <summary>Makes an encrypted connection to the server of a connected one. Thread-safe.</summary>
internal sealed class UplinkTlsClient
{
    private readonly ServerEndpoint _server;
    private readonly TlsOptions _options;
    private readonly bool _isHttp;
    private readonly TimeProvider _timeProvider;

    /// <param name="server">The server, whose name is checked.</param>
    /// <param name="options">Whom to trust.</param>
    /// <param name="timeProvider">Time.</param>
    /// <param name="isHttp">Whether it is a public port, which speaks HTTP; otherwise that of uplinks.</param>
    public UplinkTlsClient(ServerEndpoint server, TlsOptions options, TimeProvider timeProvider, bool isHttp = false)
    {
        _isHttp = isHttp;
        _server = server;
        _options = options;
        _timeProvider = timeProvider;
    }

    /// <summary>Shakes hands.</summary>
    /// <param name="transport">The connection; the encrypted transport owns it when there is one, otherwise it stays the caller's.</param>
    /// <param name="stop">Gives up.</param>
    /// <returns>The encrypted transport, or why there is none.</returns>
    public async Task<(IUplinkTransport? Transport, ConnectFailure? Failure)> OpenAsync(IUplinkTransport transport, CancellationToken stop)
    {
        X509Certificate2Collection? authorities;
        SslStreamCertificateContext? own;
        try
        {
            authorities = TlsFiles.LoadAuthorities(_options);
            own = TlsFiles.LoadClientCertificate(_options);
        }
        catch (Exception exception)
            when (exception is IOException or UnauthorizedAccessException or CryptographicException or ArgumentException)
        {
            return (null, Fail($"a file of --server-ca, --client-cert or --client-key cannot be used: {exception.Message}"));
        }

        var trust = new ServerTrust(_options, authorities, _server.Host, _timeProvider.GetUtcNow().UtcDateTime);
        var options = new SslClientAuthenticationOptions
        {
            TargetHost = _server.Host,
            ClientCertificateContext = own,
            CertificateRevocationCheckMode = X509RevocationMode.NoCheck,
            CertificateChainPolicy = trust.CreateChainPolicy(),
            RemoteCertificateValidationCallback = (_, certificate, chain, errors) => trust.Judge(certificate, chain, errors),
        };
        var result = _isHttp
            ? await TlsHandshake.ConnectToHttpAsync(
                transport, options, ProtocolLimits.HandshakeTimeout, _timeProvider, stop).ConfigureAwait(false)
            : await TlsHandshake.ConnectAsync(
                transport, options, ProtocolLimits.HandshakeTimeout, _timeProvider, stop).ConfigureAwait(false);
        return (result.Transport, result.Status == TlsHandshakeStatus.Done ? null : Describe(result, trust));
    }

    private UplinkWay Way => _isHttp ? UplinkWay.WebSocket : UplinkWay.Direct;

    private ConnectFailure Describe(TlsHandshakeResult result, ServerTrust trust) => result.Status switch
    {
        TlsHandshakeStatus.NotTls when _isHttp && IsReject(result.FirstBytes.Span) =>
            FailWithoutTls("this is the server's uplink port, and not its public port"),
        TlsHandshakeStatus.NotTls when IsReject(result.FirstBytes.Span) =>
            FailWithoutTls(
                $"the server speaks plaintext at this port; give it Tunnel2:Uplink:Certificate, or connect without TLS, as "
                    + $"tcp://{_server}, where the network is safe"),
        TlsHandshakeStatus.NotTls when _isHttp =>
            FailWithoutTls("what answers at this port does not speak TLS; is it the server's HTTPS port?"),
        TlsHandshakeStatus.NotTls =>
            FailWithoutTls("what answers at this port does not speak TLS; is it the uplink port of tunnel2-entry?"),
        TlsHandshakeStatus.OtherProtocol => ConnectFailure.Create(_server, Way, ConnectFailureReason.NotTunnel2),
        TlsHandshakeStatus.TimedOut => ConnectFailure.Create(_server, Way, ConnectFailureReason.TimedOut),
        _ when trust.Problem is { } problem =>
            Fail(problem) with { UntrustedFingerprint = trust.Untrusted, IsOutOfDate = trust.IsOutOfDate },
        TlsHandshakeStatus.Closed => ConnectFailure.Create(_server, Way, ConnectFailureReason.ClosedEarly),
        _ when result.Detail.Contains("application protocol", StringComparison.OrdinalIgnoreCase) =>
            ConnectFailure.Create(_server, Way, ConnectFailureReason.NotTunnel2),
        _ => Fail(result.Detail),
    };

    /// <summary>A frame of ours begins with a length far below 2^16; a TLS record never does.</summary>
    private static bool IsReject(ReadOnlySpan<byte> first) => first.Length >= 4 && first[0] == 0;

    private ConnectFailure FailWithoutTls(string detail) => Fail(detail) with { WithoutTls = Way };

    private ConnectFailure Fail(string detail) => ConnectFailure.Create(_server, Way, ConnectFailureReason.TlsFailed, detail);
}
