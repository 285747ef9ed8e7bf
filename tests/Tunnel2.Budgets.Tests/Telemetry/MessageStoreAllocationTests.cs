using System.Collections.Immutable;
using System.Runtime.CompilerServices;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Budgets.Tests.Telemetry;

[Trait("Category", "Unit")]
public sealed class MessageStoreAllocationTests
{
    private const int Keys = 20;

    private readonly StripedMessageStore<long> _store = new(Keys);
    private readonly string[] _keys = [.. Enumerable.Range(0, Keys).Select(i => $"key {i}")];

    public MessageStoreAllocationTests() => SetAll(0);

    [Fact]
    public void A_store_on_an_existing_key_allocates_nothing()
    {
        Assert.Equal(0, Allocated(() => SetAll(1)));
    }

    [Fact]
    public void A_store_on_an_existing_key_with_an_observer_allocates_nothing()
    {
        var observer = new LastSeen();
        var store = new StripedMessageStore<long>(Keys, observer: observer);

        Assert.Equal(0, Allocated(() =>
        {
            foreach (string key in _keys)
            {
                store.Set(key, 2);
            }
        }));
        Assert.Equal(2, observer.Value);
    }

    [Fact]
    public void A_snapshot_of_an_unchanged_store_allocates_nothing_and_is_the_same_array()
    {
        ImmutableArray<KeyValuePair<string, long>> first = _store.GetState();

        Assert.Equal(0, Allocated(() => Assert.True(first == _store.GetState())));
    }

    [Fact]
    public void A_snapshot_of_a_changed_store_allocates_one_array()
    {
        long array = Allocated(() => GC.KeepAlive(new KeyValuePair<string, long>[Keys]));

        Assert.Equal(array, Allocated(() =>
        {
            _store.Set(_keys[0], 3);
            _store.GetState();
        }));
    }

    [Fact]
    public void Reads_and_deletes_allocate_nothing()
    {
        Assert.Equal(0, Allocated(() =>
        {
            _store.TryGet(_keys[1], out _);
            _store.TryDelete(_keys[2]);
            _store.Set(_keys[2], 1);
            _ = _store.Count;
        }));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Allocated(Action body)
    {
        // The first runs pay for compilation, static data and the tables' last growth.
        for (int i = 0; i < 3; i++)
        {
            body();
        }

        long before = GC.GetAllocatedBytesForCurrentThread();
        body();
        return GC.GetAllocatedBytesForCurrentThread() - before;
    }

    private void SetAll(long value)
    {
        foreach (string key in _keys)
        {
            _store.Set(key, value);
        }
    }

    private sealed class LastSeen : IMessageObserver<long>
    {
        public long Value { get; private set; }

        public void OnSet(string key, long value) => Value = value;

        public void OnDeleted(string key) => Value = -1;

        public void OnReset() => Value = -2;
    }
}
