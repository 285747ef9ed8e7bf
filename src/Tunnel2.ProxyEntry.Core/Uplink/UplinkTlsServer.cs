using System.Diagnostics.CodeAnalysis;
using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// Turns an accepted connection into an encrypted one. Agents' certificates are requested if the settings use them. They are judged where
/// tokens are judged, so that both get the same answer. Thread-safe.
/// </summary>
internal sealed class UplinkTlsServer
{
    private readonly ReloadingCertificate _certificate;
    private readonly X509Certificate2Collection? _clientAuthorities;
    private readonly AgentRegistry _agents;
    private readonly UplinkRejection _rejection;
    private readonly HandshakeTurns _turns;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;

    public UplinkTlsServer(
        ReloadingCertificate certificate,
        X509Certificate2Collection? clientAuthorities,
        AgentRegistry agents,
        UplinkRejection rejection,
        HandshakeTurns turns,
        TimeProvider timeProvider,
        ILogger logger)
    {
        _certificate = certificate;
        _clientAuthorities = clientAuthorities;
        _agents = agents;
        _rejection = rejection;
        _turns = turns;
        _timeProvider = timeProvider;
        _logger = logger;
    }

    /// <summary>
    /// Does the TLS handshake. A failure has been reported to the peer and logged when this returns; the caller still disposes of the
    /// transport.
    /// </summary>
    /// <returns>The encrypted transport and its peer; a null transport when the handshake failed.</returns>
    [SuppressMessage(
        "Security", "CA5359", Justification = "An agent's certificate, not a server's: the admission judges it where it judges tokens.")]
    public async Task<(IUplinkTransport? Transport, UplinkPeer Peer)> OpenAsync(
        IUplinkTransport transport, UplinkPeer peer, CancellationToken stopping)
    {
        var policyErrors = SslPolicyErrors.None;
        var options = new SslServerAuthenticationOptions
        {
            ServerCertificateContext = _certificate.Current.Context,
            ClientCertificateRequired = _clientAuthorities is not null || _agents.Current.UsesCertificates,
            CertificateRevocationCheckMode = X509RevocationMode.NoCheck,
            CertificateChainPolicy = CreateChainPolicy(),
            RemoteCertificateValidationCallback = (_, _, _, errors) =>
            {
                // The handshake only proves that the peer has the key. The admission decides whether the certificate is accepted.
                policyErrors = errors;
                return true;
            },
        };
        var result = await TlsHandshake.AcceptAsync(
            transport, options, ProtocolLimits.HandshakeTimeout, _timeProvider, stopping,
            async () => await _turns.Next(peer.Address)).ConfigureAwait(false);
        switch (result.Status)
        {
            case TlsHandshakeStatus.Done:
                return (result.Transport, peer with { Certificate = Describe(result.Transport!.RemoteCertificate, policyErrors) });
            case TlsHandshakeStatus.NotTls:
                ProxyEntryLog.PlaintextOnTlsPort(_logger, transport.RemoteName);
                await _rejection.SendAsync(transport, new RejectMessage(
                    RejectCode.TlsRequired, TimeSpan.Zero, "This server expects TLS on the uplink.")).ConfigureAwait(false);
                return (null, peer);
            default:
                ProxyEntryLog.HandshakeFailed(_logger, transport.RemoteName, $"TLS {result.Status} {result.Detail}".TrimEnd());
                return (null, peer);
        }
    }

    /// <summary>
    /// Only the authorities of the settings count for agents, never the system's, because those issue certificates to any customer.
    /// </summary>
    private X509ChainPolicy CreateChainPolicy()
    {
        var policy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust,
            RevocationMode = X509RevocationMode.NoCheck,
            DisableCertificateDownloads = true,
        };
        if (_clientAuthorities is not null)
        {
            policy.CustomTrustStore.AddRange(_clientAuthorities);
        }

        return policy;
    }

    private AgentCertificate? Describe(X509Certificate2? certificate, SslPolicyErrors errors) => certificate is null
        ? null
        : new AgentCertificate(
            CertificateFingerprint.Of(certificate),
            certificate.GetNameInfo(X509NameType.SimpleName, forIssuer: false),
            _clientAuthorities is not null && errors == SslPolicyErrors.None);
}
