using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>A certificate that an agent has sent, with proof that it has the key. Immutable.</summary>
/// <param name="Fingerprint">Its fingerprint.</param>
/// <param name="Name">Its common name.</param>
/// <param name="IsIssuedByClientCa">Whether an authority of <c>Uplink:ClientCa</c> issued it, and it is valid now.</param>
internal sealed record AgentCertificate(CertificateFingerprint Fingerprint, string Name, bool IsIssuedByClientCa);
