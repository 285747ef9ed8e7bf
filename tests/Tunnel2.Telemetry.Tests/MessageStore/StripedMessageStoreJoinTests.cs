using System.Collections.Immutable;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Telemetry.Tests.MessageStore;

[Trait("Category", "Unit")]
public sealed class StripedMessageStoreJoinTests
{
    private const int Publishers = 16;
    private const int Subscribers = 8;
    private const int MessagesPerPublisher = 3_000;
    private const int SharedKeys = 10;

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(8)]
    public async Task Subscribers_that_join_at_random_moments_lose_and_repeat_nothing(int stripes)
    {
        int seed = Environment.TickCount;
        var store = new StripedMessageStore<long>(stripes: stripes);
        var whole = new Recorder();
        Assert.Empty(store.Join(whole));
        int published = 0;

        List<Task<List<Subscription>>> subscribers =
        [
            .. Enumerable.Range(0, Subscribers).Select(i => Start(() => Follow(new Random(seed + i)))),
        ];
        Task[] publishers = [.. Enumerable.Range(0, Publishers).Select(i => Start(() => Publish(i)))];
        await Task.WhenAll([.. publishers, .. subscribers]);

        Dictionary<string, List<long>> history = whole.Live.GroupBy(message => message.Key)
            .ToDictionary(group => group.Key, group => group.Select(message => message.Value).ToList());
        AssertEveryPublisherIsInIt(history);
        Assert.Equal(history.ToDictionary(entry => entry.Key, entry => entry.Value[^1]), store.GetState().ToDictionary());
        Dictionary<(string Key, long Value), int> positions = history
            .SelectMany(entry => entry.Value.Select((value, position) => ((entry.Key, value), position))).ToDictionary();
        foreach (Task<List<Subscription>> subscriber in subscribers)
        {
            foreach (Subscription seen in await subscriber)
            {
                string? fault = JoinChecker.Check(history, positions, seen.Snapshot, seen.Recorder.Live, seen.Stayed);
                Assert.True(fault is null, $"{fault} (seed {seed})");
            }
        }

        // Each publisher has keys of its own and shares ten with all the others; a message is unique: publisher and number.
        bool Publish(int publisher)
        {
            for (int i = 0; i < MessagesPerPublisher; i++)
            {
                string key = i % 2 == 0 ? $"own {publisher}/{i % 4}" : $"shared {i % SharedKeys}";
                store.Set(key, ((long)publisher << 32) | (uint)i);
                Interlocked.Increment(ref published);
            }

            return true;
        }

        // A subscriber comes and goes all the time, and the last time it stays: hundreds of joins, each at another moment of the others'
        // work.
        List<Subscription> Follow(Random random)
        {
            const int Total = Publishers * MessagesPerPublisher;
            var seen = new List<Subscription>();
            while (true)
            {
                int leaveAfter = Volatile.Read(ref published) + random.Next(100);
                bool stays = leaveAfter >= Total - (Total / 10);
                var recorder = new Recorder();
                seen.Add(new Subscription(store.Join(recorder), recorder, stays));
                if (stays)
                {
                    return seen;
                }

                SpinWait.SpinUntil(() => Volatile.Read(ref published) >= leaveAfter);
                Assert.True(store.Leave(recorder));
            }
        }
    }

    [Fact]
    public void Snapshot_and_a_registration_elsewhere_happen_at_one_moment()
    {
        var store = new StripedMessageStore<long>();
        store.Set("a", 1);
        var registered = new List<string>();

        ImmutableArray<KeyValuePair<string, long>> snapshot = store.GetState(registered, static list => list.Add("subscriber"));

        Assert.Equal([KeyValuePair.Create("a", 1L)], snapshot);
        Assert.Equal(["subscriber"], registered);
    }

    [Fact]
    public void An_observer_hears_of_stores_deletes_and_resets_until_it_leaves()
    {
        var store = new StripedMessageStore<long>();
        var recorder = new Recorder();
        store.Join(recorder);

        store.Set("a", 1);
        store.TryDelete("missing");
        store.TryDelete("a");
        store.Reset();
        Assert.True(store.Leave(recorder));
        Assert.False(store.Leave(recorder));
        store.Set("a", 2);

        Assert.Equal([("a", 1), ("a", Recorder.Deleted), ("", Recorder.WasReset)], recorder.Live);
    }

    [Fact]
    public void A_store_whose_observer_throws_goes_on()
    {
        var store = new StripedMessageStore<long>();
        var thrower = new Thrower();
        store.Join(thrower);

        Assert.Throws<InvalidOperationException>(() => store.Set("a", 1));
        store.Leave(thrower);
        store.Set("b", 2);

        Assert.Equal(2, store.Count);
    }

    [Theory]
    [InlineData(-1)]
    [InlineData(3)]
    [InlineData(512)]
    public void A_number_of_stripes_that_is_no_power_of_two_up_to_256_is_refused(int stripes) =>
        Assert.Throws<ArgumentOutOfRangeException>(() => new StripedMessageStore<int>(stripes: stripes));

    private static void AssertEveryPublisherIsInIt(Dictionary<string, List<long>> history)
    {
        Assert.Equal(Publishers * MessagesPerPublisher, history.Values.Sum(messages => messages.Count));
        foreach (List<long> messages in history.Values)
        {
            foreach (IGrouping<long, long> ofOnePublisher in messages.GroupBy(message => message >> 32))
            {
                Assert.Equal(ofOnePublisher.Order(), ofOnePublisher);
            }
        }
    }

    private static Task<TResult> Start<TResult>(Func<TResult> body) => Task.Factory.StartNew(
        body, TestContext.Current.CancellationToken, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    private sealed record Subscription(ImmutableArray<KeyValuePair<string, long>> Snapshot, Recorder Recorder, bool Stayed);

    /// <summary>Writes down every call in the order in which they come; calls for different keys may come at the same time.</summary>
    private sealed class Recorder : IMessageObserver<long>
    {
        public const long Deleted = -1;
        public const long WasReset = -2;
        private readonly Lock _gate = new();

        public List<(string Key, long Value)> Live { get; } = [];

        public void OnSet(string key, long value) => Add(key, value);

        public void OnDeleted(string key) => Add(key, Deleted);

        public void OnReset() => Add("", WasReset);

        private void Add(string key, long value)
        {
            lock (_gate)
            {
                Live.Add((key, value));
            }
        }
    }

    private sealed class Thrower : IMessageObserver<long>
    {
        public void OnSet(string key, long value) => throw new InvalidOperationException();

        public void OnDeleted(string key) => throw new InvalidOperationException();

        public void OnReset() => throw new InvalidOperationException();
    }
}
