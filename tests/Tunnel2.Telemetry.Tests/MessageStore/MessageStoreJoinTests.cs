using System.Collections.Immutable;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Telemetry.Tests.MessageStore;

[Trait("Category", "Unit")]
public sealed class MessageStoreJoinTests
{
    private const int Publishers = 16;
    private const int Subscribers = 8;
    private const int MessagesPerPublisher = 3_000;
    private const int SharedKeys = 10;
    private const int MessagesPerStep = 16;

    public static TheoryData<string> Strategies => MessageStoreStrategies.Names;

    [Theory]
    [MemberData(nameof(Strategies))]
    public async Task Subscribers_that_join_at_random_moments_lose_and_repeat_nothing(string strategy)
    {
        int seed = Environment.TickCount;
        var followers = new Followers();
        IMessageStore<long> store = MessageStoreStrategies.Create(strategy, followers);
        var whole = new Recorder();
        followers.Join(store, whole);
        Assert.Empty(whole.Snapshot);
        int published = 0;

        // Set when so many steps of messages have been published.
        const int Steps = Publishers * MessagesPerPublisher / MessagesPerStep;
        ManualResetEventSlim[] steps = [.. Enumerable.Range(0, Steps + 1).Select(static _ => new ManualResetEventSlim())];
        steps[0].Set();

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
                string? fault = JoinChecker.Check(history, positions, seen.Recorder.Snapshot, seen.Recorder.Live, seen.Stayed);
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
                int now = Interlocked.Increment(ref published);
                if (now % MessagesPerStep == 0)
                {
                    steps[now / MessagesPerStep].Set();
                }
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
                followers.Join(store, recorder);
                seen.Add(new Subscription(recorder, stays));
                if (stays)
                {
                    return seen;
                }

                // Up to a step later than it says, and at another moment of the others' work each time.
                Assert.True(steps[(leaveAfter + MessagesPerStep - 1) / MessagesPerStep].Wait(TimeSpan.FromSeconds(30)));
                Thread.SpinWait(random.Next(2_000));
                followers.Leave(store, recorder);
            }
        }
    }

    [Theory]
    [MemberData(nameof(Strategies))]
    public void An_observer_hears_of_stores_deletes_and_resets(string strategy)
    {
        var recorder = new Recorder();
        IMessageStore<long> store = MessageStoreStrategies.Create(strategy, recorder);

        store.Set("a", 1);
        store.TryDelete("missing");
        store.TryDelete("a");
        store.Reset();
        store.Set("a", 2);

        Assert.Equal([("a", 1), ("a", Recorder.Deleted), ("", Recorder.WasReset), ("a", 2)], recorder.Live);
    }

    [Theory]
    [MemberData(nameof(Strategies))]
    public void A_join_gets_the_snapshot_and_its_state(string strategy)
    {
        IMessageStore<long> store = MessageStoreStrategies.Create(strategy, new Recorder());
        store.Set("a", 1);
        var joined = new List<KeyValuePair<string, long>>();

        store.Join(joined, static (list, snapshot) => list.AddRange(snapshot));

        Assert.Equal([KeyValuePair.Create("a", 1L)], joined);
    }

    [Theory]
    [MemberData(nameof(Strategies))]
    public void A_store_whose_observer_or_join_throws_continues(string strategy)
    {
        var thrower = new Thrower { Throws = true };
        IMessageStore<long> store = MessageStoreStrategies.Create(strategy, thrower);

        Assert.Throws<InvalidOperationException>(() => store.Set("a", 1));
        Assert.Throws<InvalidTimeZoneException>(() => store.Join(0, static (_, _) => throw new InvalidTimeZoneException()));
        thrower.Throws = false;
        store.Set("b", 2);

        Assert.Equal(2, store.Count);
    }

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

    private sealed record Subscription(Recorder Recorder, bool Stayed);

    /// <summary>The store's observer: passes every change to those who have joined.</summary>
    private sealed class Followers : IMessageObserver<long>
    {
        private Recorder[] _recorders = [];

        public void Join(IMessageStore<long> store, Recorder recorder) => store.Join((this, recorder), static (join, snapshot) =>
        {
            (Followers followers, join.recorder.Snapshot) = (join.Item1, snapshot);
            followers._recorders = [.. followers._recorders, join.recorder];
        });

        public void Leave(IMessageStore<long> store, Recorder recorder) => store.Join((this, recorder), static (leave, _) =>
            leave.Item1._recorders = [.. leave.Item1._recorders.Where(recorder => recorder != leave.recorder)]);

        public void OnSet(string key, long value) => Array.ForEach(_recorders, recorder => recorder.OnSet(key, value));

        public void OnDeleted(string key) => Array.ForEach(_recorders, recorder => recorder.OnDeleted(key));

        public void OnReset() => Array.ForEach(_recorders, recorder => recorder.OnReset());
    }

    /// <summary>Writes down every call in the order in which they come; calls for different keys may come at the same time.</summary>
    private sealed class Recorder : IMessageObserver<long>
    {
        public const long Deleted = -1;
        public const long WasReset = -2;
        private readonly Lock _gate = new();

        public ImmutableArray<KeyValuePair<string, long>> Snapshot { get; set; }

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
        public bool Throws { get; set; }

        public void OnSet(string key, long value)
        {
            if (Throws)
            {
                throw new InvalidOperationException();
            }
        }

        public void OnDeleted(string key) => throw new InvalidOperationException();

        public void OnReset() => throw new InvalidOperationException();
    }
}
