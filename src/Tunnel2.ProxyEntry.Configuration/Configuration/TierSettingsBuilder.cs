using System.Globalization;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Checks the tiers of the options and makes settings of them.</summary>
internal static class TierSettingsBuilder
{
    private const string Unlimited = "unlimited";
    private const int MaxNameLength = 32;
    private const int Most = 1_000_000;

    /// <summary>Makes the table.</summary>
    /// <param name="options">The options.</param>
    /// <param name="report">Told of each mistake: the key, and what is wrong.</param>
    public static TierTable Build(ProxyEntryOptions options, Action<string, string> report)
    {
        var tiers = new Dictionary<string, RateTier?>(StringComparer.OrdinalIgnoreCase);
        foreach (var (name, tier) in options.Tiers)
        {
            var path = $"{SettingKeys.Tiers}:{name}";
            if (!IsName(name))
            {
                report(path, $"has a name that is not 1 to {MaxNameLength} characters of [a-z0-9-].");
            }

            tiers[name] = Check(name, path, tier, report);
        }

        return new TierTable(tiers);
    }

    /// <summary>Whether a text can be the name of a tier.</summary>
    public static bool IsName(string tier) =>
        tier.Length is > 0 and <= MaxNameLength && tier[0] != '-' && tier[^1] != '-'
        && tier.All(static c => char.IsAsciiLetterLower(c) || char.IsAsciiDigit(c) || c == '-');

    private static RateTier? Check(string name, string path, TierOptions tier, Action<string, string> report)
    {
        if (Unlimited.Equals(tier.RequestsPerSecond?.Trim(), StringComparison.OrdinalIgnoreCase))
        {
            if (tier.Burst is not null)
            {
                report($"{path}:{SettingKeys.TierBurst}", "means nothing where requests are unlimited.");
            }

            return null;
        }

        var rate = CheckNumber($"{path}:{SettingKeys.TierRequestsPerSecond}", tier.RequestsPerSecond, $"a whole number from 1 to {Most}, or {Unlimited}", report);
        var burst = tier.Burst is null ? rate : CheckNumber($"{path}:{SettingKeys.TierBurst}", tier.Burst, $"a whole number from 1 to {Most}", report);
        return new RateTier(name.ToLowerInvariant(), rate, burst);
    }

    private static int CheckNumber(string key, string? text, string wanted, Action<string, string> report)
    {
        if (int.TryParse(text?.Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out var number) && number is >= 1 and <= Most)
        {
            return number;
        }

        report(key, text is null ? $"is missing; give {wanted}." : $"{SettingsErrorFormatter.Quote(text)} is not {wanted}.");
        return 1;
    }
}
