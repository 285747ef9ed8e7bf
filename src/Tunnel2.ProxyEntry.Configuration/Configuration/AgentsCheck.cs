using System.Net;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Checks agents against each other and against the tiers, and makes the agents of the table. One use per instance.</summary>
internal sealed class AgentsCheck(SettingsReader read, TierTable tiers, IReadOnlyCollection<string> gates, string domain)
{
    private readonly Dictionary<string, string> _owners = new(StringComparer.OrdinalIgnoreCase);

    /// <summary>Makes the agents; if mistakes were reported, they must not be used.</summary>
    public List<AgentSettings> Make(IReadOnlyList<AgentEntry> entries)
    {
        var agents = new List<AgentSettings>();
        foreach (var entry in entries)
        {
            var id = entry.Id;
            var path = $"{SettingKeys.Agents}:{id}";
            if (id.Length is 0 or > 64 || !id.All(static c => char.IsAsciiLetterOrDigit(c) || c is '.' or '_' or '-'))
            {
                read.Report(path, "has an id that is not 1 to 64 characters of [A-Za-z0-9._-].");
            }

            var keys = new[] { AgentEntry.TokenHashKey, AgentEntry.FingerprintKey, AgentEntry.CertificateNameKey };
            if (!keys.Any(key => read.IsGiven($"{path}:{key}")))
            {
                read.Report(
                    $"{path}:{AgentEntry.TokenHashKey}",
                    "is missing; tunnel2-entry token create prints it. "
                    + "(A certificate would do: CertificateFingerprint or CertificateName.)");
            }

            if (entry.Tier is { } tier && !tiers.Contains(tier))
            {
                read.Report(
                    $"{path}:{AgentEntry.TierKey}",
                    $"{SettingsErrorFormatter.Quote(tier)} is not a tier; there are {string.Join(", ", tiers.Names)}. "
                    + "Tunnel2:Tiers:<name>:RequestsPerSecond makes another.");
            }

            foreach (var name in entry.Names)
            {
                if (DomainName.FindOwn(name.ToString(), domain) is { } mistake)
                {
                    read.Report($"{path}:{AgentEntry.NamesKey}", $"has {SettingsErrorFormatter.Quote(name.ToString())}, {mistake}.");
                }
            }

            CheckOwn($"{path}:{AgentEntry.TokenHashKey}", id, entry.TokenHash?.ToSetting(), "hash", "token");
            CheckOwn($"{path}:{AgentEntry.FingerprintKey}", id, entry.CertificateFingerprint?.ToString(), "fingerprint", "certificate");
            CheckOwn($"{path}:{AgentEntry.CertificateNameKey}", id, entry.CertificateName, "certificate's name", "certificate");
            if (entry.Users.GroupBy(static user => user.Name).FirstOrDefault(static same => same.Count() > 1) is { } twice)
            {
                read.Report($"{path}:{AgentEntry.BasicAuthKey}", $"has the user {twice.Key} more than once.");
            }

            if (entry.Allowed.Intersect(entry.Denied).Select(static network => (IPNetwork?)network).FirstOrDefault() is { } both)
            {
                read.Report($"{path}:{AgentEntry.DenyIpKey}", $"has {both}, which {AgentEntry.AllowIpKey} has too.");
            }

            var hasSecrets = read.IsGiven($"{path}:{AgentEntry.WebhookSecretFileKey}");
            if (read.IsGiven($"{path}:{AgentEntry.VerifyWebhookKey}") != hasSecrets)
            {
                read.Report(
                    $"{path}:{(hasSecrets ? AgentEntry.VerifyWebhookKey : AgentEntry.WebhookSecretFileKey)}",
                    $"is missing: {AgentEntry.VerifyWebhookKey} and {AgentEntry.WebhookSecretFileKey} belong together.");
            }

            agents.Add(new AgentSettings(id, entry.TokenHash, entry.Names, entry.Tier)
            {
                CertificateFingerprint = entry.CertificateFingerprint,
                CertificateName = entry.CertificateName,
                Sessions = entry.Sessions,
                Policy = entry.Policy,
                Webhook = entry.WebhookProvider == WebhookProvider.None || entry.WebhookSecretList is not { } secrets
                    ? null
                    : new WebhookRule(entry.WebhookProvider, secrets),
                Access = ForcedAccess.Of(
                    entry.Users, entry.Allowed, entry.Denied, CheckTokens(entry, path), CheckGate(entry, path), entry.VisitorAuthorities),
            });
        }

        return agents;
    }

    private ForcedTokens? CheckTokens(AgentEntry entry, string path)
    {
        var (issuer, audience) = ($"{path}:{AgentEntry.JwtIssuerKey}", $"{path}:{AgentEntry.JwtAudienceKey}");
        if (read.IsGiven(issuer) != read.IsGiven(audience))
        {
            // A token of the same issuer that is meant for another service must not open this one.
            read.Report(
                read.IsGiven(issuer) ? audience : issuer,
                $"is missing; {AgentEntry.JwtIssuerKey} and {AgentEntry.JwtAudienceKey} belong together.");
        }
        else if (read.IsGiven(issuer) && !entry.Users.IsEmpty)
        {
            read.Report(issuer, $"contradicts {AgentEntry.BasicAuthKey}: a visitor has one Authorization, for a login or for a token.");
        }

        return entry is { JwtIssuer: { } named, JwtAudience: { } wanted } ? new ForcedTokens(named, wanted) : null;
    }

    private string? CheckGate(AgentEntry entry, string path)
    {
        var key = $"{path}:{AgentEntry.OidcKey}";
        if (entry.Oidc is not { } gate)
        {
            return null;
        }

        if (!gates.Contains(gate))
        {
            read.Report(key, $"{SettingsErrorFormatter.Quote(gate)} is not a gate of Tunnel2:Oidc.");
        }
        else if (!entry.Users.IsEmpty || entry.JwtIssuer is not null)
        {
            var other = entry.Users.IsEmpty ? AgentEntry.JwtIssuerKey : AgentEntry.BasicAuthKey;
            read.Report(key, $"contradicts {other}: one of them is enough.");
        }

        return gate;
    }

    private void CheckOwn(string key, string id, string? value, string what, string thing)
    {
        if (value is not null && !_owners.TryAdd($"{what} {value}", id))
        {
            read.Report(key, $"is also the {what} of agent {_owners[$"{what} {value}"]}; every agent needs its own {thing}.");
        }
    }
}
