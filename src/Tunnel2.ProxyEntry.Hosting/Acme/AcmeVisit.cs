using Tunnel2.ProxyEntry.Certificates;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>Marks the connection of an authority that came for a handshake alone (RFC 8737), with what it is shown.</summary>
/// <param name="Certificate">The certificate.</param>
internal sealed record AcmeVisit(ServerCertificate Certificate);
