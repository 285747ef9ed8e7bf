using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

[Trait("Category", "Unit")]
public sealed class SubscriptionIndexConcurrencyTests
{
    private const int Churners = 4;
    private const int Stable = 40;
    private static readonly string[] _channels = ["session.a.stats", "session.b.stats", "node.stats"];

    public static TheoryData<string> Strategies => SubscriptionIndexStrategies.Names;

    [Theory]
    [MemberData(nameof(Strategies))]
    public async Task Publishers_find_each_subscriber_that_stays_and_none_that_never_came_while_others_come_and_go(string strategy)
    {
        int seed = Environment.TickCount;
        bool patterns = strategy == "slots";
        ISubscriptionIndex index = SubscriptionIndexStrategies.Create(strategy);

        // Numbers say what to expect: below Stable, on channel number % 3 from the beginning to the end; the others may be anywhere but
        // there.
        TestSubscriber[] stable = [.. Enumerable.Range(0, Stable).Select(i => new TestSubscriber(i))];
        int running = Churners;
        using var ready = new Barrier(Churners + 2);
        Task[] publishers = [Start(Publish), Start(Publish)];
        Task<List<TestSubscriber>>[] churners = [.. Enumerable.Range(0, Churners).Select(i => Start(() =>
        {
            try
            {
                return Churn(i);
            }
            finally
            {
                Interlocked.Decrement(ref running);
            }
        }))];
        await Task.WhenAll([.. publishers, .. churners]);

        // When all is quiet, the index has exactly what the threads say they left in it.
        foreach (string channel in _channels)
        {
            IEnumerable<int> expected = stable.Where(subscriber => ChannelOf(subscriber) == channel)
                .Concat(
                    churners.SelectMany(churner => churner.GetAwaiter().GetResult()).Where(subscriber => ChannelOf(subscriber) == channel))
                .Select(subscriber => subscriber.Number).Order();
            Assert.Equal(expected, IndexModel.Find(index, channel, new SubscriberMatches()));
        }

        bool Publish()
        {
            // Both publishers may try; each stable subscriber is added once.
            foreach (TestSubscriber subscriber in stable)
            {
                index.Add(subscriber, ChannelOf(subscriber));
            }

            ready.SignalAndWait();
            var matches = new SubscriberMatches();
            var seen = new int[Stable];
            for (int round = 1; Volatile.Read(ref running) > 0; round++)
            {
                string channel = _channels[round % _channels.Length];
                index.Get(channel, matches);
                int found = 0;
                foreach (Subscriber subscriber in matches)
                {
                    int number = ((TestSubscriber)subscriber).Number;
                    Assert.Equal(channel, ChannelOf((TestSubscriber)subscriber));
                    if (number < Stable)
                    {
                        Assert.NotEqual(round, seen[number]);
                        seen[number] = round;
                        found++;
                    }
                }

                Assert.True(
                    stable.Count(subscriber => ChannelOf(subscriber) == channel) == found, $"{found} stable in {channel}, seed {seed}");
            }

            return true;
        }

        List<TestSubscriber> Churn(int churner)
        {
            var random = new Random(seed + churner);
            var present = new List<TestSubscriber>();
            ready.SignalAndWait();
            for (int i = 0; i < 4_000; i++)
            {
                bool join = random.Next(10) < ((i / 400) % 2 == 0 ? 8 : 2);
                if (join)
                {
                    var subscriber = new TestSubscriber(Stable + (i * Churners) + churner);
                    Assert.True(index.Add(subscriber, ChannelOf(subscriber)));
                    if (patterns && i % 5 == 0)
                    {
                        // Patterns and channels of its own, which are made and reclaimed all the time beside the others.
                        Assert.True(index.Add(subscriber, $"other.{i % 3}.*"));
                        Assert.True(index.Add(subscriber, $"other.{i % 3}.x"));
                    }

                    present.Add(subscriber);
                }
                else if (present.Count > 0)
                {
                    int which = random.Next(present.Count);
                    Assert.InRange(index.RemoveClient(present[which]), 1, 3);
                    present.RemoveAt(which);
                }
            }

            return present;
        }
    }

    private static string ChannelOf(TestSubscriber subscriber) => _channels[subscriber.Number % _channels.Length];

    private static Task<TResult> Start<TResult>(Func<TResult> body) => Task.Factory.StartNew(
        body, TestContext.Current.CancellationToken, TaskCreationOptions.LongRunning, TaskScheduler.Default);
}
