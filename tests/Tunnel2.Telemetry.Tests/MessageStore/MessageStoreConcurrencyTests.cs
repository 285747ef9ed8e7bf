using System.Collections.Immutable;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Telemetry.Tests.MessageStore;

[Trait("Category", "Unit")]
public sealed class MessageStoreConcurrencyTests
{
    public static TheoryData<string> Strategies => MessageStoreStrategies.Names;

    [Theory]
    [MemberData(nameof(Strategies))]
    public void A_snapshot_is_a_cut_through_one_moment(string strategy)
    {
        // One writer moves ten keys from round to round in order: at any moment the front ones are in round r, the others in round r - 1.
        const int Keys = 10;
        const int Rounds = 5_000;
        IMessageStore<int> store = MessageStoreStrategies.Create<int>(strategy);
        string[] keys = [.. Enumerable.Range(0, Keys).Select(i => $"key {i}")];
        foreach (string key in keys)
        {
            store.Set(key, 0);
        }

        int written = 0;
        Parallel(
            () =>
            {
                for (int round = 1; round <= Rounds; round++)
                {
                    foreach (string key in keys)
                    {
                        store.Set(key, round);
                    }
                }

                Volatile.Write(ref written, 1);
            },
            Read,
            Read);

        void Read()
        {
            bool last;
            do
            {
                last = Volatile.Read(ref written) == 1;
                Dictionary<string, int> state = store.GetState().ToDictionary();
                Assert.Equal(Keys, state.Count);
                for (int i = 1; i < Keys; i++)
                {
                    Assert.InRange(state[keys[i]], state[keys[0]] - 1, state[keys[i - 1]]);
                }
            }
            while (!last);
        }
    }

    [Theory]
    [MemberData(nameof(Strategies))]
    public void A_snapshot_read_after_a_store_has_it(string strategy)
    {
        const int Threads = 6;
        IMessageStore<int> store = MessageStoreStrategies.Create<int>(strategy);
        Parallel([.. Enumerable.Range(0, Threads).Select(thread => (Action)(() =>
        {
            string key = $"key {thread}";
            for (int i = 0; i < 2_000; i++)
            {
                store.Set(key, i);
                Assert.Equal(i, Find(store.GetState(), key));
            }
        }))]);
    }

    [Theory]
    [MemberData(nameof(Strategies))]
    public void A_snapshot_that_is_read_after_another_threads_store_has_returned_has_it(string strategy)
    {
        // The store-buffer litmus test: a writer stores and then looks whether the reader has begun; the reader says that it begins and
        // then reads. When the writer looked in vain its store came first, and a snapshot kept from before it would be stale.
        const int Rounds = 30_000;
        IMessageStore<int> store = MessageStoreStrategies.Create<int>(strategy);
        store.Set("key", 0);
        int writerRound = 0;
        int readerRound = 0;
        int reading = 0;
        var storedFirst = new bool[Rounds + 1];
        var found = new int[Rounds + 1];

        Parallel(
            () =>
            {
                for (int round = 1; round <= Rounds; round++)
                {
                    _ = store.GetState();
                    Meet(ref writerRound, ref readerRound, round);
                    store.Set("key", round);
                    storedFirst[round] = Volatile.Read(ref reading) != round;
                }
            },
            () =>
            {
                for (int round = 1; round <= Rounds; round++)
                {
                    Meet(ref readerRound, ref writerRound, round);
                    Interlocked.Exchange(ref reading, round);
                    found[round] = Find(store.GetState(), "key");
                }
            });

        for (int round = 1; round <= Rounds; round++)
        {
            Assert.True(
                !storedFirst[round] || found[round] >= round, $"Round {round} was stored, and a later snapshot had {found[round]}.");
        }

        static void Meet(ref int mine, ref int theirs, int round)
        {
            Volatile.Write(ref mine, round);
            var spinner = default(SpinWait);
            while (Volatile.Read(ref theirs) < round)
            {
                if (spinner.Count < 1_000)
                {
                    spinner.SpinOnce(sleep1Threshold: -1);
                }
                else
                {
                    Thread.Yield();
                }
            }
        }
    }

    [Theory]
    [MemberData(nameof(Strategies))]
    public void Every_thread_finds_its_own_keys_beside_the_others(string strategy)
    {
        const int Threads = 8;
        IMessageStore<int> store = MessageStoreStrategies.Create<int>(strategy);
        Parallel([.. Enumerable.Range(0, Threads).Select(thread => (Action)(() =>
        {
            var random = new Random(thread);
            var mine = new Dictionary<string, int>();
            for (int i = 0; i < 5_000; i++)
            {
                string key = $"{thread}/{random.Next(200)}";
                if (random.Next(3) == 0)
                {
                    Assert.Equal(mine.Remove(key), store.TryDelete(key));
                }
                else
                {
                    store.Set(key, i);
                    mine[key] = i;
                }

                string probe = $"{thread}/{random.Next(200)}";
                Assert.Equal(mine.TryGetValue(probe, out int expected), store.TryGet(probe, out int actual));
                Assert.Equal(expected, actual);
            }

            string prefix = $"{thread}/";
            Assert.Equal(mine, store.GetState().Where(pair => pair.Key.StartsWith(prefix, StringComparison.Ordinal)).ToDictionary());
        }))]);
    }

    private static int Find(ImmutableArray<KeyValuePair<string, int>> state, string key)
    {
        foreach (KeyValuePair<string, int> pair in state)
        {
            if (pair.Key == key)
            {
                return pair.Value;
            }
        }

        return int.MinValue;
    }

    private static void Parallel(params Action[] bodies) =>
        Task.WaitAll([.. bodies.Select(body => Task.Factory.StartNew(
            body, TestContext.Current.CancellationToken, TaskCreationOptions.LongRunning, TaskScheduler.Default))]);
}
