using System.Collections.Immutable;
using Tunnel2.Policies.Tables;
using Tunnel2.Protocol.Handshake;
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

    /// <summary>Who may visit its tunnels; null: the agent decides.</summary>
    public ForcedAccess? Access { get; init; }

    /// <summary>The policy of its tunnels, which the agent cannot change; null: none.</summary>
    public Policy? Policy { get; init; }

    /// <summary>Which signature its requests need, which the agent cannot change; null: none.</summary>
    public WebhookRule? Webhook { get; init; }

    /// <summary>How many sessions it may have at once; null: the default of all agents.</summary>
    public int? Sessions { get; init; }

    /// <summary>The name of its token, for a token that the server keeps itself; null for an agent of the settings.</summary>
    public string? TokenName { get; init; }

    /// <summary>When its token ends; null: never.</summary>
    public DateTimeOffset? Expires { get; init; }

    /// <summary>Whether the token had ended when the table was made: then it grants nothing, and keeps no name.</summary>
    public bool IsExpired { get; init; }

    /// <summary>Whether a certificate belongs to this agent.</summary>
    public bool Accepts(AgentCertificate certificate) =>
        (CertificateFingerprint is { } pinned && pinned.Equals(certificate.Fingerprint))
        || (
            CertificateName is { } name
                && certificate.IsIssuedByClientCa
                && name.Equals(certificate.Name, StringComparison.OrdinalIgnoreCase));
}
