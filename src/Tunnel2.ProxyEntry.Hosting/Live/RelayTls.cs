using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.Telemetry.Relay;
using Tunnel2.Transport.Sockets;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>TLS of the relay. Each handshake uses the current certificate, so the next client gets a renewed one. Thread-safe.</summary>
internal sealed class RelayTls
{
    private readonly HandshakeTurns? _turns;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;

    private RelayTls(ReloadingCertificate certificate, HandshakeTurns? turns, TimeProvider timeProvider, ILogger logger)
    {
        Certificate = certificate;
        _turns = turns;
        _timeProvider = timeProvider;
        _logger = logger;
    }

    /// <summary>The certificate.</summary>
    public ReloadingCertificate Certificate { get; }

    /// <summary>Makes it from the settings; null for plaintext. A self-made certificate is found or made here.</summary>
    /// <param name="settings">The settings.</param>
    /// <param name="uplink">The uplink's certificate, which the relay shares where both have the same; null for none.</param>
    /// <param name="turns">Whose handshake is computed next; null: in the order in which they come.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="logger">The log.</param>
    /// <exception cref="IOException">The certificate cannot be read or kept.</exception>
    public static RelayTls? Create(
        ProxyEntrySettings settings, ReloadingCertificate? uplink, HandshakeTurns? turns, TimeProvider timeProvider, ILogger logger)
    {
        if (settings.RelaySecurity == UplinkSecurity.Plaintext)
        {
            return null;
        }

        if (uplink is not null
            && settings.RelaySecurity == settings.UplinkSecurity
            && settings.RelayCertificate == settings.UplinkCertificate)
        {
            return new RelayTls(uplink, turns, timeProvider, logger);
        }

        var isNew = false;
        var source = settings.RelayCertificate ?? SelfMadeCertificate.FindOrCreate(settings, timeProvider.GetUtcNow(), out isNew);
        if (isNew)
        {
            ProxyEntryLog.CertificateMade(logger, source.Path);
        }

        try
        {
            return new RelayTls(
                new ReloadingCertificate(source, CertificateUse.RelayClients, timeProvider, logger), turns, timeProvider, logger);
        }
        catch (Exception exception) when (exception is CryptographicException or UnauthorizedAccessException or ArgumentException)
        {
            throw new IOException($"the certificate cannot be used ({source.Path}): {exception.Message}", exception);
        }
    }

    /// <summary>Does the handshake on an accepted socket.</summary>
    /// <returns>Null when it failed. A peer that sent plaintext keeps its plain connection, for one answer.</returns>
    public async Task<(RelayTransport? Transport, bool SentPlaintext)> EncryptAsync(Socket socket, CancellationToken cancellationToken)
    {
        var address = (socket.RemoteEndPoint as IPEndPoint)?.Address;
        var plain = new SocketTransport(socket, isUplink: false);
        var options = new SslServerAuthenticationOptions { ServerCertificateContext = Certificate.Current.Context };

        // The relay limits the time of handshake and hello together.
        var result = await TlsHandshake.AcceptAsync(
            plain, TlsHandshake.RelayProtocol, options, Timeout.InfiniteTimeSpan, _timeProvider, cancellationToken,
            _turns is null ? null : async () => await _turns.Next(address)).ConfigureAwait(false);
        switch (result.Status)
        {
            case TlsHandshakeStatus.Done:
                var tls = result.Transport!;
                return (new DelegatedRelayTransport(tls.ReceiveAsync, tls.SendAsync, tls.Abort, tls.DisposeAsync), false);
            case TlsHandshakeStatus.NotTls:
                LiveLog.RelayHandshakeFailed(_logger, address, "plaintext where TLS is expected");
                return (new DelegatedRelayTransport(plain.ReceiveAsync, plain.SendAsync, plain.Abort, plain.DisposeAsync), true);
            default:
                await plain.DisposeAsync().ConfigureAwait(false);
                LiveLog.RelayHandshakeFailed(_logger, address, $"TLS {result.Status} {result.Detail}".TrimEnd());
                return (null, false);
        }
    }
}
