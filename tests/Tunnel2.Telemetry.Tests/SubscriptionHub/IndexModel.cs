using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

/// <summary>Random operations on an index beside <see cref="NaiveIndex"/>.</summary>
internal static class IndexModel
{
    internal static string[] Channels { get; } = ["node.stats", "session.a.stats", "session.b.stats", "session.a.requests", "x", "a.b.c.d"];

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

    internal static Gen<(int Kind, int Client, int Name)[]> Sequences(int names) => Gen.ArrayOf(
        from kind in Gen.Choose(0, 9)
        from client in Gen.Choose(0, 11)
        from name in Gen.Choose(0, names - 1)
        select (kind, client, name));

    internal static void BehavesLikeTheOracle(ISubscriptionIndex index, string[] names, (int Kind, int Client, int Name)[] sequence)
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

            foreach (string channel in Channels)
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
