using Tunnel2.Laboratory.SubscriptionHub;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

/// <summary>
/// The indexes that lost the race, by name, for the contract that they share with the one that runs. They know no patterns.
/// </summary>
public static class SubscriptionIndexStrategies
{
    public static TheoryData<string> Names =>
        ["as-it-was", "one-lock", "sharded-4", "sharded-8", "sharded-16", "sharded-32", "copy-on-write"];

    internal static ISubscriptionIndex Create(string name) => name switch
    {
        "as-it-was" => new ScanningSubscriptionIndex(),
        "one-lock" => new ShardedSubscriptionIndex(1),
        "sharded-4" => new ShardedSubscriptionIndex(4),
        "sharded-8" => new ShardedSubscriptionIndex(8),
        "sharded-16" => new ShardedSubscriptionIndex(16),
        "sharded-32" => new ShardedSubscriptionIndex(32),
        "copy-on-write" => new CopyOnWriteSubscriptionIndex(),
        _ => throw new ArgumentOutOfRangeException(nameof(name), name, "No such index."),
    };
}
