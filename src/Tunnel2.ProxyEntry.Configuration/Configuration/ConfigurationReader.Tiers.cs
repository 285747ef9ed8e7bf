namespace Tunnel2.ProxyEntry.Configuration;

/// <content>The tiers, whose keys carry names.</content>
internal sealed partial class ConfigurationReader
{
    private void ReadTiers(IConfigurationSection section) => ReadNamed(section, SettingKeys.Tiers, _options.Tiers, ReadTierKey);

    private void ReadTierKey(IConfigurationSection section, string tierPath, TierOptions tier)
    {
        var value = string.IsNullOrWhiteSpace(section.Value) ? null : section.Value;
        if (section.Key.Equals(SettingKeys.TierRequestsPerSecond, StringComparison.OrdinalIgnoreCase))
        {
            tier.RequestsPerSecond = value;
        }
        else if (section.Key.Equals(SettingKeys.TierBurst, StringComparison.OrdinalIgnoreCase))
        {
            tier.Burst = value;
        }
        else
        {
            ReportUnknown(section, tierPath + ":" + section.Key, tierPath + ":", SettingKeys.TierKeys);
            return;
        }

        foreach (var child in section.GetChildren())
        {
            ReportUnknown(child, tierPath + ":" + section.Key + ":" + child.Key, tierPath + ":", SettingKeys.TierKeys);
        }
    }
}
