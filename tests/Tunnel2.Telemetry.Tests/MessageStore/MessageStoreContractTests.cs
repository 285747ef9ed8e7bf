using System.Collections.Immutable;
using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Telemetry.Tests.MessageStore;

[Trait("Category", "Unit")]
public sealed class MessageStoreContractTests
{
    public static TheoryData<string> Strategies => MessageStoreStrategies.Names;

    [Theory]
    [MemberData(nameof(Strategies))]
    public void A_new_store_is_empty(string strategy)
    {
        IMessageStore<int> store = MessageStoreStrategies.Create<int>(strategy);

        Assert.Equal(0, store.Count);
        Assert.Empty(store.GetState());
        Assert.False(store.TryGet("key", out _));
        Assert.False(store.TryDelete("key"));
    }

    [Theory]
    [MemberData(nameof(Strategies))]
    public void The_latest_message_of_a_key_wins(string strategy)
    {
        IMessageStore<string> store = MessageStoreStrategies.Create<string>(strategy);
        store.Set("key", "first");
        store.Set("key", "second");

        Assert.True(store.TryGet("key", out string? latest));
        Assert.Equal("second", latest);
        Assert.Equal(1, store.Count);
        Assert.Equal([KeyValuePair.Create("key", "second")], store.GetState());
    }

    [Theory]
    [MemberData(nameof(Strategies))]
    public void A_deleted_key_is_gone_and_may_come_back(string strategy)
    {
        IMessageStore<int> store = MessageStoreStrategies.Create<int>(strategy);
        store.Set("a", 1);
        store.Set("b", 2);

        Assert.True(store.TryDelete("a"));
        Assert.False(store.TryDelete("a"));
        Assert.False(store.TryGet("a", out _));
        Assert.Equal([KeyValuePair.Create("b", 2)], store.GetState());

        store.Set("a", 3);
        Assert.True(store.TryGet("a", out int value));
        Assert.Equal(3, value);
        Assert.Equal(2, store.Count);
    }

    [Theory]
    [MemberData(nameof(Strategies))]
    public void Reset_forgets_everything(string strategy)
    {
        IMessageStore<int> store = MessageStoreStrategies.Create<int>(strategy);
        for (int i = 0; i < 100; i++)
        {
            store.Set($"key {i}", i);
        }

        _ = store.GetState();
        store.Reset();

        Assert.Equal(0, store.Count);
        Assert.Empty(store.GetState());
        Assert.False(store.TryGet("key 1", out _));
    }

    [Theory]
    [MemberData(nameof(Strategies))]
    public void A_snapshot_does_not_change_after_it_was_read(string strategy)
    {
        IMessageStore<int> store = MessageStoreStrategies.Create<int>(strategy);
        store.Set("a", 1);
        ImmutableArray<KeyValuePair<string, int>> before = store.GetState();

        store.Set("a", 2);
        store.Set("b", 1);
        store.TryDelete("a");

        Assert.Equal([KeyValuePair.Create("a", 1)], before);
        Assert.Equal([KeyValuePair.Create("b", 1)], store.GetState());
    }

    [Theory]
    [MemberData(nameof(Strategies))]
    public void A_missing_key_is_refused_as_an_argument(string strategy)
    {
        IMessageStore<int> store = MessageStoreStrategies.Create<int>(strategy);

        Assert.Throws<ArgumentNullException>(() => store.Set(null!, 1));
        Assert.Throws<ArgumentNullException>(() => store.TryGet(null!, out _));
        Assert.Throws<ArgumentNullException>(() => store.TryDelete(null!));
    }

    [Theory]
    [MemberData(nameof(Strategies))]
    public void Any_sequence_of_operations_has_the_outcome_of_a_plain_dictionary(string strategy)
    {
        // Few keys make deletes and overwrites hit; the many of "kind 4" make tables grow and chains form.
        Gen<(int Kind, int Key)[]> operations = Gen.ArrayOf(
            from kind in Gen.Choose(0, 9)
            from key in kind == 4 ? Gen.Choose(0, 500) : Gen.Choose(0, 12)
            select (kind, key));

        Prop.ForAll(Arb.From(operations), sequence => BehavesLikeADictionary(strategy, sequence)).QuickCheckThrowOnFailure();
    }

    [Theory]
    [MemberData(nameof(Strategies))]
    public void Thousands_of_keys_are_kept_apart(string strategy)
    {
        IMessageStore<int> store = MessageStoreStrategies.Create<int>(strategy);
        var expected = new Dictionary<string, int>();
        for (int i = 0; i < 20_000; i++)
        {
            store.Set($"key {i}", i);
            expected[$"key {i}"] = i;
        }

        for (int i = 0; i < 20_000; i += 3)
        {
            Assert.True(store.TryDelete($"key {i}"));
            expected.Remove($"key {i}");
        }

        Assert.Equal(expected.Count, store.Count);
        Assert.Equal(expected, store.GetState().ToDictionary());
        Assert.All(expected, pair => Assert.True(store.TryGet(pair.Key, out int value) && value == pair.Value));
    }

    private static void BehavesLikeADictionary(string strategy, (int Kind, int Key)[] sequence)
    {
        IMessageStore<int> store = MessageStoreStrategies.Create<int>(strategy);
        var model = new Dictionary<string, int>();
        for (int step = 0; step < sequence.Length; step++)
        {
            string key = $"key {sequence[step].Key}";
            switch (sequence[step].Kind)
            {
                case < 5:
                    store.Set(key, step);
                    model[key] = step;
                    break;
                case < 7:
                    Assert.Equal(model.Remove(key), store.TryDelete(key));
                    break;
                case 7:
                    Assert.Equal(model.TryGetValue(key, out int expected), store.TryGet(key, out int actual));
                    Assert.Equal(expected, actual);
                    break;
                case 8:
                    Assert.Equal(model, store.GetState().ToDictionary());
                    break;
                case 9 when step % 5 == 0:
                    store.Reset();
                    model.Clear();
                    break;
            }

            Assert.Equal(model.Count, store.Count);
        }

        Assert.Equal(model, store.GetState().ToDictionary());
    }
}
