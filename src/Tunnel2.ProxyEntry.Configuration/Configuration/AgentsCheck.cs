using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Checks agents against each other and against the tiers, and makes the agents of the table. One use per instance.</summary>
internal sealed class AgentsCheck(SettingsReader read, TierTable tiers)
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

            CheckOwn($"{path}:{AgentEntry.TokenHashKey}", id, entry.TokenHash?.ToSetting(), "hash", "token");
            CheckOwn($"{path}:{AgentEntry.FingerprintKey}", id, entry.CertificateFingerprint?.ToString(), "fingerprint", "certificate");
            CheckOwn($"{path}:{AgentEntry.CertificateNameKey}", id, entry.CertificateName, "certificate's name", "certificate");
            agents.Add(new AgentSettings(id, entry.TokenHash, entry.Names, entry.Tier)
            {
                CertificateFingerprint = entry.CertificateFingerprint,
                CertificateName = entry.CertificateName,
                Sessions = entry.Sessions,
            });
        }

        return agents;
    }

    private void CheckOwn(string key, string id, string? value, string what, string thing)
    {
        if (value is not null && !_owners.TryAdd($"{what} {value}", id))
        {
            read.Report(key, $"is also the {what} of agent {_owners[$"{what} {value}"]}; every agent needs its own {thing}.");
        }
    }
}
