using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.LiveBenchmarks.SubscriptionHub;

/// <summary>A client that counts what is delivered to it; the publisher touches every one, as a hub would.</summary>
internal sealed class BenchmarkClient : Subscriber
{
    public long Delivered { get; set; }
}
