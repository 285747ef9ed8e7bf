using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>The certificate that an agent has shown, and proved to hold the key of. Immutable.</summary>
/// <param name="Fingerprint">Its fingerprint.</param>
/// <param name="Name">Its common name.</param>
/// <param name="IsIssuedByClientCa">Whether one of <c>Uplink:ClientCa</c> issued it, and it is valid now.</param>
internal sealed record AgentCertificate(CertificateFingerprint Fingerprint, string Name, bool IsIssuedByClientCa);
