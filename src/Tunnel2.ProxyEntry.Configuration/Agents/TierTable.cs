using System.Collections.Frozen;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>All tiers by name. Immutable, so safe for any number of threads.</summary>
internal sealed class TierTable
{
    /// <summary>The built-in tiers, which settings can replace.</summary>
    private static readonly Dictionary<string, RateTier?> _builtIn = new(StringComparer.OrdinalIgnoreCase)
    {
        ["free"] = new RateTier("free", 10, 10),
        ["pro"] = new RateTier("pro", 100, 100),
        ["enterprise"] = null,
    };

    private readonly FrozenDictionary<string, RateTier?> _tiers;

    /// <param name="configured">Tiers that are added to the built-in ones or replace them; null means no limit.</param>
    public TierTable(IReadOnlyDictionary<string, RateTier?> configured)
    {
        var tiers = new Dictionary<string, RateTier?>(_builtIn, StringComparer.OrdinalIgnoreCase);
        foreach (var (name, tier) in configured)
        {
            tiers[name] = tier;
        }

        _tiers = tiers.ToFrozenDictionary(StringComparer.OrdinalIgnoreCase);
    }

    /// <summary>A table with the built-in tiers only.</summary>
    public static TierTable BuiltIn { get; } = new(new Dictionary<string, RateTier?>());

    /// <summary>The names of all tiers, in alphabetical order.</summary>
    public IEnumerable<string> Names => _tiers.Keys.Order(StringComparer.Ordinal);

    /// <summary>Whether there is a tier of this name.</summary>
    public bool Contains(string name) => _tiers.ContainsKey(name);

    /// <summary>The limits of a tier; null when it has none, or when no tier is named.</summary>
    public RateTier? Find(string? name) => name is null ? null : _tiers.GetValueOrDefault(name);
}
