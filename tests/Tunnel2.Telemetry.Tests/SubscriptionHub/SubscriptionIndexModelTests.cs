using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.Telemetry.SubscriptionHub.Alternatives;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

[Trait("Category", "Unit")]
public sealed class SubscriptionIndexModelTests
{
    private static readonly string[] _channels = ["node.stats", "session.a.stats", "session.b.stats", "session.a.requests", "x", "a.b.c.d"];

    private static readonly string[] _patterns =
        ["session.*.stats", "session.>", ">", "*", "*.stats", "*.*.stats", "session.a.*", "a.b.>", "a.*.c.>", "node.*.>", "session.*.>"];

    public static TheoryData<string> Alternatives => ["one-lock", "sharded", "copy-on-write"];

    [Fact]
    public void Any_sequence_of_operations_has_the_outcome_of_a_list_that_is_searched()
    {
        string[] names = [.. _channels, .. _patterns];
        Prop.ForAll(Arb.From(Sequences(names.Length)), sequence => BehavesLikeTheOracle(new SubscriptionIndex(), names, sequence))
            .Check(Config.QuickThrowOnFailure.WithMaxTest(300).WithEndSize(400));
    }

    [Theory]
    [MemberData(nameof(Alternatives))]
    public void The_alternatives_do_the_same_without_patterns(string alternative)
    {
        Prop.ForAll(Arb.From(Sequences(_channels.Length)), sequence => BehavesLikeTheOracle(Create(alternative), _channels, sequence))
            .QuickCheckThrowOnFailure();
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
                Assert.True(oracle.Get("session.a.stats").SequenceEqual(Find(index, "session.a.stats", matches)), $"step {step}, seed {seed}");
            }
        }
    }

    internal static IEnumerable<int> Find(ISubscriptionIndex index, string channel, SubscriberMatches matches)
    {
        index.Get(channel, matches);
        var numbers = new List<int>();
        foreach (Subscriber subscriber in matches)
        {
            numbers.Add(((TestSubscriber)subscriber).Number);
        }

        return numbers.Order();
    }

    internal static ISubscriptionIndex Create(string name) => name switch
    {
        "one-lock" => new ShardedSubscriptionIndex(1),
        "sharded" => new ShardedSubscriptionIndex(16),
        "copy-on-write" => new CopyOnWriteSubscriptionIndex(),
        "slots" => new SubscriptionIndex(),
        _ => throw new ArgumentOutOfRangeException(nameof(name), name, "No such index."),
    };

    private static Gen<(int Kind, int Client, int Name)[]> Sequences(int names) => Gen.ArrayOf(
        from kind in Gen.Choose(0, 9)
        from client in Gen.Choose(0, 11)
        from name in Gen.Choose(0, names - 1)
        select (kind, client, name));

    private static void BehavesLikeTheOracle(ISubscriptionIndex index, string[] names, (int Kind, int Client, int Name)[] sequence)
    {
        var oracle = new NaiveIndex();
        TestSubscriber[] clients = [.. Enumerable.Range(0, 12).Select(i => new TestSubscriber(i))];
        var matches = new SubscriberMatches();
        foreach ((int kind, int client, int name) in sequence)
        {
            TestSubscriber subscriber = clients[client];
            switch (kind)
            {
                case < 6:
                    Assert.Equal(oracle.Add(subscriber, names[name]), index.Add(subscriber, names[name]));
                    break;
                case < 9:
                    Assert.Equal(oracle.Remove(subscriber, names[name]), index.Remove(subscriber, names[name]));
                    break;
                default:
                    Assert.Equal(oracle.RemoveClient(subscriber), index.RemoveClient(subscriber));
                    if (name % 2 == 0)
                    {
                        clients[client] = new TestSubscriber(client);
                    }

                    break;
            }

            foreach (string channel in _channels)
            {
                Assert.Equal(oracle.Get(channel), Find(index, channel, matches));
            }

            if (index is SubscriptionIndex slots)
            {
                Assert.Equal(oracle.ChannelCount, slots.ChannelCount);
            }
        }
    }
}
