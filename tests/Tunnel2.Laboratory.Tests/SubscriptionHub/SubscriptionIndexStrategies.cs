using Tunnel2.Laboratory.SubscriptionHub;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

/// <summary>
/// The indexes that lost the race, by name, for the contract that they share with the one that runs. They know no patterns.
/// </summary>
public static class SubscriptionIndexStrategies
{
    public static TheoryData<string> Names => ["one-lock", "sharded", "copy-on-write"];

    internal static ISubscriptionIndex Create(string name) => name switch
    {
        "one-lock" => new ShardedSubscriptionIndex(1),
        "sharded" => new ShardedSubscriptionIndex(16),
        "copy-on-write" => new CopyOnWriteSubscriptionIndex(),
        _ => throw new ArgumentOutOfRangeException(nameof(name), name, "No such index."),
    };
}
