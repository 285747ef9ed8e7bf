using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

/// <summary>The index that runs; those that lost the race have a list of their own in Tunnel2.Laboratory.Tests.</summary>
public static class SubscriptionIndexStrategies
{
    public static TheoryData<string> Names => ["slots"];

    internal static ISubscriptionIndex Create(string name) => name switch
    {
        "slots" => new SubscriptionIndex(),
        _ => throw new ArgumentOutOfRangeException(nameof(name), name, "No such index."),
    };
}
