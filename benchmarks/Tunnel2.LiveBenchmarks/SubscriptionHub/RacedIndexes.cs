using Tunnel2.Laboratory.SubscriptionHub;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.LiveBenchmarks.SubscriptionHub;

/// <summary>The indexes that are raced, by name, from the ancestor's to the one that runs.</summary>
internal static class RacedIndexes
{
    /// <summary>The ancestor's on the day of its incident.</summary>
    public const string AsItWas = "as it was";

    /// <summary>The one that runs.</summary>
    public const string Slots = "slots";

    /// <summary>Gets all names.</summary>
    public static IReadOnlyList<string> Names { get; } =
        [AsItWas, "1 shard", "4 shards", "8 shards", "16 shards", "32 shards", "copy on write", Slots];

    /// <summary>Whether a lookup costs as much as the channel has subscribers.</summary>
    public static bool Copies(string name) => name == AsItWas || IsSharded(name);

    /// <summary>Makes an empty index.</summary>
    public static ISubscriptionIndex Create(string name) => name switch
    {
        AsItWas => new ScanningSubscriptionIndex(),
        "copy on write" => new CopyOnWriteSubscriptionIndex(),
        _ when IsSharded(name) => new ShardedSubscriptionIndex(
            int.Parse(name.AsSpan(0, name.IndexOf(' ', StringComparison.Ordinal)), System.Globalization.CultureInfo.InvariantCulture)),
        _ => new SubscriptionIndex(),
    };

    private static bool IsSharded(string name) => name.Contains("shard", StringComparison.Ordinal);
}
