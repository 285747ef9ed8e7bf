using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

[Trait("Category", "Unit")]
public sealed class SubscriptionIndexTurnoverTests
{
    [Fact]
    public async Task A_channel_that_is_reclaimed_and_made_again_by_many_threads_loses_no_subscription()
    {
        var index = new SubscriptionIndex();
        await Task.WhenAll(Enumerable.Range(0, 6).Select(thread => Start(() =>
        {
            var matches = new SubscriberMatches();
            for (int i = 0; i < 5_000; i++)
            {
                var subscriber = new TestSubscriber(thread);
                string name = i % 2 == 0 ? "a.b" : "a.*";
                Assert.True(index.Add(subscriber, name));
                Assert.Contains(thread, IndexModel.Find(index, "a.b", matches));
                Assert.Equal(1, index.RemoveClient(subscriber));
                Assert.DoesNotContain(thread, IndexModel.Find(index, "a.b", matches));
            }

            return true;
        })));

        Assert.Equal(0, index.ChannelCount);
    }

    [Fact]
    public async Task A_client_that_is_removed_while_it_subscribes_leaves_nothing_behind()
    {
        var index = new SubscriptionIndex();
        for (int i = 0; i < 300; i++)
        {
            var subscriber = new TestSubscriber(i);
            using var start = new Barrier(2);
            Task<bool> subscribing = Start(() =>
            {
                start.SignalAndWait();
                for (int channel = 0; channel < 20; channel++)
                {
                    index.Add(subscriber, $"channel.{channel}");
                }

                return true;
            });
            start.SignalAndWait();
            index.RemoveClient(subscriber);
            await subscribing;
            Assert.Equal(0, index.ChannelCount);
        }
    }

    private static Task<TResult> Start<TResult>(Func<TResult> body) => Task.Factory.StartNew(
        body, TestContext.Current.CancellationToken, TaskCreationOptions.LongRunning, TaskScheduler.Default);
}
