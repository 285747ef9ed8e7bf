using System.Collections.Immutable;
using System.Globalization;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Checks the agents of the options and makes settings of them. One use per instance.</summary>
internal sealed class AgentSettingsBuilder
{
    private const int MaxCertificateNameLength = 64; // the upper bound of a common name, RFC 5280 appendix A

    private readonly ProxyEntryOptions _options;
    private readonly TierTable _tiers;
    private readonly List<SettingsError> _errors;
    private readonly Dictionary<string, string> _owners = new(StringComparer.OrdinalIgnoreCase);

    public AgentSettingsBuilder(ProxyEntryOptions options, TierTable tiers, List<SettingsError> errors)
    {
        _tiers = tiers;
        _options = options;
        _errors = errors;
    }

    /// <summary>Makes the settings; they mean nothing when mistakes were added to the list.</summary>
    public List<AgentSettings> Build()
    {
        var agents = new List<AgentSettings>();
        foreach (var (id, agent) in _options.Agents)
        {
            var path = $"{SettingKeys.Agents}:{id}";
            if (!IsAgentId(id))
            {
                Report(path, "has an id that is not 1 to 64 characters of [A-Za-z0-9._-].");
            }

            var tier = agent.Tier?.Trim();
            if (tier is not null && !_tiers.Contains(tier))
            {
                Report($"{path}:{SettingKeys.AgentTier}", $"{SettingsErrorFormatter.Quote(tier)} is not a tier; there are {string.Join(", ", _tiers.Names)}. Tunnel2:Tiers:<name>:RequestsPerSecond makes another.");
            }

            agents.Add(new AgentSettings(id, CheckToken(path, id, agent), CheckNames($"{path}:{SettingKeys.AgentNames}", agent.Names), tier)
            {
                CertificateFingerprint = CheckFingerprint($"{path}:{SettingKeys.AgentCertificateFingerprint}", id, agent.CertificateFingerprint),
                Sessions = CheckSessions($"{path}:{SettingKeys.AgentSessions}", agent.Sessions),
                CertificateName = CheckCertificateName($"{path}:{SettingKeys.AgentCertificateName}", id, agent.CertificateName?.Trim()),
            });
        }

        return agents;
    }

    private int? CheckSessions(string key, string? text)
    {
        if (text is null)
        {
            return null;
        }

        if (!int.TryParse(text.Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out var sessions) || sessions is < 1 or > 1_000_000)
        {
            Report(key, $"{SettingsErrorFormatter.Quote(text)} is not a number between 1 and 1000000.");
        }

        return sessions;
    }

    private TokenHash? CheckToken(string path, string id, AgentOptions agent)
    {
        var key = $"{path}:{SettingKeys.AgentTokenHash}";
        if (agent.TokenHash is null)
        {
            if (agent.CertificateFingerprint is null && agent.CertificateName is null)
            {
                Report(key, "is missing; tunnel2-entry token create prints it. (A certificate would do: CertificateFingerprint or CertificateName.)");
            }

            return null;
        }

        if (!TokenHash.TryParse(agent.TokenHash, out var hash) || hash is null)
        {
            Report(key, "is not sha256: and 64 hexadecimal digits; it must be the hash of the token, never the token itself.");
            return null;
        }

        if (!_owners.TryAdd("token " + hash.ToSetting(), id))
        {
            Report(key, $"is also the hash of agent {_owners["token " + hash.ToSetting()]}; every agent needs its own token.");
        }

        return hash;
    }

    private CertificateFingerprint? CheckFingerprint(string key, string id, string? text)
    {
        if (text is null)
        {
            return null;
        }

        if (!CertificateFingerprint.TryParse(text, out var fingerprint))
        {
            Report(key, $"{SettingsErrorFormatter.Quote(text)} is not sha256: and 64 hexadecimal digits.");
        }
        else if (!_owners.TryAdd("fingerprint " + fingerprint, id))
        {
            Report(key, $"is also the fingerprint of agent {_owners["fingerprint " + fingerprint]}; every agent needs its own certificate.");
        }

        return fingerprint;
    }

    private string? CheckCertificateName(string key, string id, string? name)
    {
        if (name is null)
        {
            return null;
        }

        if (name.Length is 0 or > MaxCertificateNameLength || name.Any(char.IsControl))
        {
            Report(key, $"{SettingsErrorFormatter.Quote(name)} is not a common name of 1 to {MaxCertificateNameLength} characters.");
        }
        else if (!_owners.TryAdd("name " + name, id))
        {
            Report(key, $"is also the certificate's name of agent {_owners["name " + name]}; every agent needs its own certificate.");
        }

        return name;
    }

    private ImmutableArray<NamePattern> CheckNames(string key, IList<string> values)
    {
        var names = ImmutableArray.CreateBuilder<NamePattern>(values.Count);
        foreach (var value in values)
        {
            if (NamePattern.TryParse(value, out var pattern) && pattern is not null)
            {
                names.Add(pattern);
            }
            else
            {
                Report(key, $"{SettingsErrorFormatter.Quote(value)} is not a name or a pattern of [a-z0-9-] and *.");
            }
        }

        return names.ToImmutable();
    }

    private static bool IsAgentId(string id) =>
        id.Length is > 0 and <= 64 && id.All(static c => char.IsAsciiLetterOrDigit(c) || c is '.' or '_' or '-');

    private void Report(string key, string message) => _errors.Add(new SettingsError($"{ProxyEntryOptions.SectionName}:{key}", message));
}
