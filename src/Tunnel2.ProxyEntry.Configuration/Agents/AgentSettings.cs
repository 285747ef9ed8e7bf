using System.Collections.Immutable;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>An agent with a token or a certificate. Immutable.</summary>
/// <param name="Id">The identity that owns the names the agent registers.</param>
/// <param name="TokenHash">The hash of its token; null when it has none.</param>
/// <param name="Names">The names it may claim; empty: any that no other agent lists.</param>
/// <param name="Tier">The set of limits that applies; null: unlimited.</param>
internal sealed record AgentSettings(string Id, TokenHash? TokenHash, ImmutableArray<NamePattern> Names, string? Tier)
{
    /// <summary>The fingerprint of its certificate, from any issuer; null when it has none.</summary>
    public CertificateFingerprint? CertificateFingerprint { get; init; }

    /// <summary>
    /// The common name of its certificate, which an authority of <c>Uplink:ClientCa</c> must have issued; null when it has none.
    /// </summary>
    public string? CertificateName { get; init; }

    /// <summary>How many sessions it may have at once; null: the default of all agents.</summary>
    public int? Sessions { get; init; }

    /// <summary>Whether a certificate belongs to this agent.</summary>
    public bool Accepts(AgentCertificate certificate) =>
        (CertificateFingerprint is { } pinned && pinned.Equals(certificate.Fingerprint))
        || (
            CertificateName is { } name
                && certificate.IsIssuedByClientCa
                && name.Equals(certificate.Name, StringComparison.OrdinalIgnoreCase));
}
