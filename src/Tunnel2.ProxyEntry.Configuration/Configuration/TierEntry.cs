using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The settings of one tier, which agents' settings can name.</summary>
internal sealed class TierEntry(SettingsReader read)
{
    private const string Rate = "RequestsPerSecond";
    private const string BurstKey = "Burst";
    private const string Unlimited = "unlimited";
    private const int MaxNameLength = 32;
    private const int Most = 1_000_000;

    private readonly string _name = read.Name;

    private readonly long? _rate = read.NumberOr(
        Rate, Unlimited, 1, Most,
        "requests a second that each session of the tier may get; above it 429. A tier needs it. `free` (10), `pro` (100) and `enterprise` "
        + "(unlimited) are there already; see [limits](observability.md#limits-by-tier)",
        inWords: "–");

    private readonly int? _burst = read.NumberOrNone(
        BurstKey, 1, Most, "requests that may come at one instant after a pause", "one second's worth");

    /// <summary>Makes the table of all tiers.</summary>
    public static TierTable Check(SettingsReader read, IReadOnlyList<TierEntry> entries)
    {
        var tiers = new Dictionary<string, RateTier?>(StringComparer.OrdinalIgnoreCase);
        foreach (var entry in entries)
        {
            var name = entry._name;
            var path = $"{SettingKeys.Tiers}:{name}";
            if (!IsName(name))
            {
                read.Report(path, $"has a name that is not 1 to {MaxNameLength} characters of [a-z0-9-].");
            }

            if (!read.IsGiven($"{path}:{Rate}"))
            {
                read.Report($"{path}:{Rate}", $"is missing; give a whole number from 1 to {Most}, or {Unlimited}.");
            }
            else if (entry is { _rate: null, _burst: not null } && !read.HasError($"{path}:{Rate}"))
            {
                read.Report($"{path}:{BurstKey}", "means nothing where requests are unlimited.");
            }

            tiers[name] = entry._rate is { } rate ? new RateTier(name.ToLowerInvariant(), (int)rate, entry._burst ?? (int)rate) : null;
        }

        return new TierTable(tiers);
    }

    /// <summary>Whether a text can be the name of a tier.</summary>
    public static bool IsName(string tier) =>
        tier.Length is > 0 and <= MaxNameLength && tier[0] != '-' && tier[^1] != '-'
        && tier.All(static c => char.IsAsciiLetterLower(c) || char.IsAsciiDigit(c) || c == '-');
}
