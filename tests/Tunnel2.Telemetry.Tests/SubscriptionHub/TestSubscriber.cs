using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

internal sealed class TestSubscriber(int number) : Subscriber
{
    public int Number { get; } = number;

    public override string ToString() => $"#{Number}";
}
