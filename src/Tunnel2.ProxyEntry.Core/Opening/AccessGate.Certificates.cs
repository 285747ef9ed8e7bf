using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Opening;

/// <content>Visitors' certificates (mutual TLS).</content>
internal sealed partial class AccessGate
{
    /// <summary>
    /// Judges the certificate of the visitor's connection. It does not matter which name the handshake was for: what counts is what the
    /// connection has shown, and the rules of the tunnel that the request is for.
    /// </summary>
    private ProxyError? CheckCertificate(VisitorExchange exchange, AccessPolicy policy)
    {
        if (exchange.Certificate is not { } certificate)
        {
            // Over TLS it was asked for none, because its handshake was for another name: a new connection will be.
            return Refuse(exchange.IsTls ? ProxyError.Misdirected : ProxyError.CertificateRequired);
        }

        // Browsers use a connection of HTTP/2 for each name that its certificate has. What it has shown was for the name of its handshake:
        // for this one the visitor may have another certificate.
        return certificate.Suits(policy, _time.GetUtcNow()) ? null
            : Refuse(certificate.Tunnel != policy.Tunnel ? ProxyError.Misdirected
                : certificate.IsThere ? ProxyError.CertificateInvalid
                : ProxyError.CertificateRequired);
    }
}
