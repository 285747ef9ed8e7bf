using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

[Trait("Category", "Unit")]
public sealed class SubscriptionIndexModelTests
{
    private static readonly string[] _patterns =
        ["session.*.stats", "session.>", ">", "*", "*.stats", "*.*.stats", "session.a.*", "a.b.>", "a.*.c.>", "node.*.>", "session.*.>"];

    [Fact]
    public void Any_sequence_of_operations_has_the_outcome_of_a_list_that_is_searched()
    {
        string[] names = [.. IndexModel.Channels, .. _patterns];
        Prop.ForAll(
            Arb.From(IndexModel.Sequences(names.Length)),
            sequence => IndexModel.BehavesLikeTheOracle(new SubscriptionIndex(), names, sequence))
            .Check(Config.QuickThrowOnFailure.WithMaxTest(300).WithEndSize(400));
    }

    [Fact]
    public void Large_channels_that_grow_and_shrink_by_chance_stay_like_the_oracle()
    {
        // Long enough to double, to be compacted and to be reclaimed many times over, which the short sequences above rarely get to.
        int seed = Environment.TickCount;
        var random = new Random(seed);
        var index = new SubscriptionIndex();
        var oracle = new NaiveIndex();
        var present = new List<TestSubscriber>();
        var matches = new SubscriberMatches();
        string[] names = ["session.a.stats", "session.*.stats"];
        for (int step = 0, number = 0; step < 8_000; step++)
        {
            // Waves: mostly joins for a thousand steps, then mostly leaves.
            bool join = random.Next(10) < ((step / 1_000) % 2 == 0 ? 8 : 2);
            if (join)
            {
                var subscriber = new TestSubscriber(number++);
                present.Add(subscriber);
                foreach (string name in names)
                {
                    Assert.Equal(oracle.Add(subscriber, name), index.Add(subscriber, name));
                }
            }
            else if (present.Count > 0)
            {
                int which = random.Next(present.Count);
                Assert.Equal(oracle.RemoveClient(present[which]), index.RemoveClient(present[which]));
                present.RemoveAt(which);
            }

            if (step % 50 == 0)
            {
                IEnumerable<int> found = IndexModel.Find(index, "session.a.stats", matches);
                Assert.True(oracle.Get("session.a.stats").SequenceEqual(found), $"step {step}, seed {seed}");
            }
        }
    }
}
