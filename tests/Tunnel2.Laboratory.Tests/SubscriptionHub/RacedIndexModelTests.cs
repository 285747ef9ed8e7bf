using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Telemetry.Tests.SubscriptionHub;

namespace Tunnel2.Laboratory.Tests.SubscriptionHub;

[Trait("Category", "Unit")]
public sealed class RacedIndexModelTests
{
    public static TheoryData<string> Strategies => SubscriptionIndexStrategies.Names;

    [Theory]
    [MemberData(nameof(Strategies))]
    public void The_alternatives_do_the_same_without_patterns(string strategy)
    {
        Prop.ForAll(
            Arb.From(IndexModel.Sequences(IndexModel.Channels.Length)),
            sequence => IndexModel.BehavesLikeTheOracle(SubscriptionIndexStrategies.Create(strategy), IndexModel.Channels, sequence))
            .QuickCheckThrowOnFailure();
    }
}
