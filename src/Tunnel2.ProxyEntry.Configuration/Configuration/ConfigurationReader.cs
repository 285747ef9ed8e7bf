namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// Walks section <c>Tunnel2</c> and fills the options. ConfigurationBinder would stop at the first value it cannot convert and pass over
/// misspelt keys in silence; a setting that has no effect is the mistake that costs most time.
/// </summary>
internal sealed partial class ConfigurationReader
{
    private const string Prefix = ProxyEntryOptions.SectionName + ":";

    private static readonly Dictionary<string, SettingKey> _values =
        SettingKeys.Values.ToDictionary(key => key.Path, StringComparer.OrdinalIgnoreCase);

    private static readonly HashSet<string> _groups = SettingKeys.Values
        .Where(key => key.Path.Contains(':'))
        .Select(key => key.Path[..key.Path.IndexOf(':')])
        .ToHashSet(StringComparer.OrdinalIgnoreCase);

    private static readonly string[] _topLevelKeys =
        [.. SettingKeys.Values.Select(key => key.Path), SettingKeys.TrustedProxies, SettingKeys.Agents, SettingKeys.Tiers];

    private readonly ProxyEntryOptions _options;
    private readonly List<SettingsError> _errors;

    public ConfigurationReader(ProxyEntryOptions options, List<SettingsError> errors)
    {
        _options = options;
        _errors = errors;
    }

    /// <summary>Reads the section; mistakes go to the list, the values concerned keep their defaults.</summary>
    public void Read(IConfigurationSection tunnel2)
    {
        foreach (var child in tunnel2.GetChildren())
        {
            ReadKey(child, child.Key);
        }
    }

    private void ReadKey(IConfigurationSection section, string path)
    {
        if (_values.TryGetValue(path, out var key))
        {
            ReadValue(section, key);
        }
        else if (path.Equals(SettingKeys.TrustedProxies, StringComparison.OrdinalIgnoreCase))
        {
            ReadList(section, _options.TrustedProxies);
        }
        else if (path.Equals(SettingKeys.Agents, StringComparison.OrdinalIgnoreCase))
        {
            ReadAgents(section);
        }
        else if (path.Equals(SettingKeys.Tiers, StringComparison.OrdinalIgnoreCase))
        {
            ReadTiers(section);
        }
        else if (_groups.Contains(path))
        {
            ReportValueOfGroup(section, path);
            foreach (var child in section.GetChildren())
            {
                ReadKey(child, path + ":" + child.Key);
            }
        }
        else
        {
            ReportUnknown(section, path, "", _topLevelKeys);
        }
    }

    private void ReadValue(IConfigurationSection section, SettingKey key)
    {
        foreach (var child in section.GetChildren())
        {
            // A setting may be a group as well: Live and Live:Query.
            var path = key.Path + ":" + child.Key;
            if (_values.ContainsKey(path))
            {
                ReadKey(child, path);
            }
            else
            {
                ReportUnknown(child, path, "", _topLevelKeys);
            }
        }

        if (string.IsNullOrWhiteSpace(section.Value))
        {
            if (key.RefusesEmpty && section.Value is not null)
            {
                Report(key.Path, "is empty; give it a value or remove it.");
            }
        }
        else if (key.Apply(_options, section.Value) is { } problem)
        {
            Report(key.Path, problem);
        }
    }

    private void ReadAgents(IConfigurationSection section) => ReadNamed(section, SettingKeys.Agents, _options.Agents, ReadAgentKey);

    /// <summary>Reads a group of groups whose keys are names: <c>Group:name:Key</c>.</summary>
    private void ReadNamed<T>(IConfigurationSection section, string group, IDictionary<string, T> named, Action<IConfigurationSection, string, T> readKey)
        where T : new()
    {
        ReportValueOfGroup(section, group);
        foreach (var one in section.GetChildren())
        {
            var path = group + ":" + one.Key;
            ReportValueOfGroup(one, path);
            var options = new T();
            foreach (var child in one.GetChildren())
            {
                readKey(child, path, options);
            }

            named[one.Key] = options;
        }
    }

    private void ReadAgentKey(IConfigurationSection section, string agentPath, AgentOptions agent)
    {
        var key = SettingKeys.AgentKeys.FirstOrDefault(known => known.Equals(section.Key, StringComparison.OrdinalIgnoreCase));
        if (key is null)
        {
            ReportUnknown(section, agentPath + ":" + section.Key, agentPath + ":", SettingKeys.AgentKeys);
            return;
        }

        if (key == SettingKeys.AgentNames)
        {
            ReadList(section, agent.Names);
            return;
        }

        foreach (var child in section.GetChildren())
        {
            ReportUnknown(child, agentPath + ":" + key + ":" + child.Key, agentPath + ":", SettingKeys.AgentKeys);
        }

        var value = string.IsNullOrWhiteSpace(section.Value) ? null : section.Value;
        switch (key)
        {
            case SettingKeys.AgentTokenHash:
                agent.TokenHash = value;
                break;
            case SettingKeys.AgentSessions:
                agent.Sessions = value;
                break;
            case SettingKeys.AgentCertificateFingerprint:
                agent.CertificateFingerprint = value;
                break;
            case SettingKeys.AgentCertificateName:
                agent.CertificateName = value;
                break;
            default:
                agent.Tier = value;
                break;
        }
    }

    // One comma-separated value (environment, command line) replaces an array from a file: adding to it by index would be a surprise.
    private static void ReadList(IConfigurationSection section, IList<string> target)
    {
        var values = string.IsNullOrWhiteSpace(section.Value)
            ? section.GetChildren().Select(child => child.Value ?? "")
            : section.Value.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        foreach (var value in values)
        {
            target.Add(value);
        }
    }

    private void ReportValueOfGroup(IConfigurationSection section, string path)
    {
        if (!string.IsNullOrEmpty(section.Value))
        {
            Report(path, "is a group of settings and takes no value itself.");
        }
    }

    private void ReportUnknown(IConfigurationSection section, string path, string parent, IReadOnlyList<string> known)
    {
        var children = section.GetChildren().ToArray();
        foreach (var child in children)
        {
            ReportUnknown(child, path + ":" + child.Key, parent, known);
        }

        if (children.Length > 0 && section.Value is null)
        {
            return;
        }

        if (SettingKeys.Removed.TryGetValue(path, out var instead))
        {
            Report(path, instead);
            return;
        }

        var suggestion = SpellingSuggestion.Find(path[parent.Length..], known);
        Report(path, suggestion is null
            ? $"unknown setting {Prefix}{path}."
            : $"unknown setting {Prefix}{path}, did you mean {Prefix}{parent}{suggestion}?");
    }

    private void Report(string path, string message) => _errors.Add(new SettingsError(Prefix + path, message));
}
