using System.Collections.Concurrent;
using System.Collections.Immutable;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Laboratory.MessageStore;

/// <summary>
/// A <see cref="ConcurrentDictionary{TKey, TValue}"/>. It cannot hold a change and its notification together, so with an observer every
/// change takes a lock around the map.
/// </summary>
/// <remarks>
/// Its snapshot is consistent because <see cref="ConcurrentDictionary{TKey, TValue}.ToArray"/> takes every lock of the map; that is also
/// why it is no friend of workloads that read snapshots.
/// </remarks>
/// <typeparam name="T">The message.</typeparam>
internal abstract class ConcurrentMessageStore<T> : IMessageStore<T>
{
    private readonly IMessageObserver<T>? _observer;
    private readonly Lock _order = new();

    /// <summary>Creates an empty store with room for <paramref name="capacity"/> keys.</summary>
    protected ConcurrentMessageStore(int capacity, IMessageObserver<T>? observer)
    {
        Messages = new ConcurrentDictionary<string, T>(concurrencyLevel: -1, Math.Max(capacity, 1));
        _observer = observer;
    }

    /// <inheritdoc/>
    public int Count => Messages.Count;

    protected ConcurrentDictionary<string, T> Messages { get; }

    /// <inheritdoc/>
    public void Set(string key, T value)
    {
        if (_observer is null)
        {
            Store(key, value);
            return;
        }

        lock (_order)
        {
            Store(key, value);
            _observer.OnSet(key, value);
        }
    }

    /// <inheritdoc/>
    public bool TryGet(string key, [MaybeNullWhen(false)] out T value) => Messages.TryGetValue(key, out value);

    /// <inheritdoc/>
    public bool TryDelete(string key)
    {
        if (_observer is null)
        {
            return Messages.TryRemove(key, out _);
        }

        lock (_order)
        {
            if (!Messages.TryRemove(key, out _))
            {
                return false;
            }

            _observer.OnDeleted(key);
            return true;
        }
    }

    /// <inheritdoc/>
    public void Reset()
    {
        if (_observer is null)
        {
            Messages.Clear();
            return;
        }

        lock (_order)
        {
            Messages.Clear();
            _observer.OnReset();
        }
    }

    /// <inheritdoc/>
    public ImmutableArray<KeyValuePair<string, T>> GetState() => ImmutableCollectionsMarshal.AsImmutableArray(Messages.ToArray());

    /// <inheritdoc/>
    /// <exception cref="InvalidOperationException">The store has no observer, so its changes take no lock.</exception>
    public void Join<TState>(TState state, Action<TState, ImmutableArray<KeyValuePair<string, T>>> join)
    {
        if (_observer is null)
        {
            throw new InvalidOperationException("A store without an observer cannot be joined.");
        }

        lock (_order)
        {
            join(state, GetState());
        }
    }

    protected abstract void Store(string key, T value);
}
