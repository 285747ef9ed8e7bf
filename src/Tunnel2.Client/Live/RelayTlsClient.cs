using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Session.Tls;
using Tunnel2.Protocol;
using Tunnel2.Telemetry.Relay;
using Tunnel2.Transport.Sockets;
using Tunnel2.Transport.Tls;

namespace Tunnel2.Client.Live;

/// <summary>Does the TLS handshake with a relay. The relay is trusted as an agent trusts its server. Not thread-safe.</summary>
internal sealed class RelayTlsClient(string host, TlsOptions trusted, TimeProvider timeProvider)
{
    /// <summary>Why the last handshake failed, for a line of text; null if none has.</summary>
    public string? Problem { get; private set; }

    /// <summary>Does the handshake on a connected socket; null, and <see cref="Problem"/>, when it fails.</summary>
    public async Task<RelayTransport?> EncryptAsync(Socket socket, CancellationToken cancellationToken)
    {
        X509Certificate2Collection? authorities;
        try
        {
            authorities = TlsFiles.LoadAuthorities(trusted);
        }
        catch (Exception exception)
            when (exception is IOException or UnauthorizedAccessException or CryptographicException or ArgumentException)
        {
            Problem = $"the file of --server-ca cannot be used: {exception.Message}";
            return null;
        }

        var trust = new ServerTrust(trusted, authorities, host, timeProvider.GetUtcNow().UtcDateTime);
        var options = new SslClientAuthenticationOptions
        {
            TargetHost = host,
            CertificateRevocationCheckMode = X509RevocationMode.NoCheck,
            CertificateChainPolicy = trust.CreateChainPolicy(),
            RemoteCertificateValidationCallback = (_, certificate, chain, errors) => trust.Judge(certificate, chain, errors),
        };
        var plain = new SocketTransport(socket, isUplink: false);
        TlsHandshakeResult result = await TlsHandshake.ConnectAsync(
            plain, TlsHandshake.RelayProtocol, options, ProtocolLimits.HandshakeTimeout, timeProvider, cancellationToken);
        if (result.Transport is { } tls)
        {
            return new DelegatedRelayTransport(tls.ReceiveAsync, tls.SendAsync, tls.Abort, tls.DisposeAsync);
        }

        await plain.DisposeAsync();
        Problem = result.Status switch
        {
            TlsHandshakeStatus.NotTls =>
                "what answers at this port does not speak TLS; where the network is safe, connect without it by --host tcp://…",
            TlsHandshakeStatus.OtherProtocol => "what answers at this port is no relay",
            TlsHandshakeStatus.TimedOut => "no answer to the TLS handshake",
            _ when trust.Problem is { } problem => problem,
            TlsHandshakeStatus.Closed => "the relay closed the connection during the TLS handshake",
            _ when result.Detail.Contains("application protocol", StringComparison.OrdinalIgnoreCase) =>
                "what answers at this port is no relay",
            _ => $"TLS failed: {result.Detail.TrimEnd('.')}",
        };
        return null;
    }
}
