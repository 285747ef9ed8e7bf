using System.Collections.Concurrent;
using System.Collections.Immutable;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Laboratory.MessageStore;

/// <summary>
/// A <see cref="ConcurrentDictionary{TKey, TValue}"/> written through <see cref="ConcurrentDictionary{TKey, TValue}.AddOrUpdate{TArg}"/>.
/// </summary>
/// <remarks>
/// Its snapshot is consistent because <see cref="ConcurrentDictionary{TKey, TValue}.ToArray"/> takes every lock of the map; that is also
/// why it is no friend of workloads that read snapshots.
/// </remarks>
/// <typeparam name="T">The message.</typeparam>
internal sealed class ConcurrentUpdateMessageStore<T> : IMessageStore<T>
{
    private readonly ConcurrentDictionary<string, T> _messages;

    /// <summary>Creates an empty store with room for <paramref name="capacity"/> keys.</summary>
    public ConcurrentUpdateMessageStore(int capacity = 0) =>
        _messages = new ConcurrentDictionary<string, T>(concurrencyLevel: -1, Math.Max(capacity, 1));

    /// <inheritdoc/>
    public int Count => _messages.Count;

    /// <inheritdoc/>
    public void Set(string key, T value) =>
        _messages.AddOrUpdate(key, static (_, latest) => latest, static (_, _, latest) => latest, value);

    /// <inheritdoc/>
    public bool TryGet(string key, [MaybeNullWhen(false)] out T value) => _messages.TryGetValue(key, out value);

    /// <inheritdoc/>
    public bool TryDelete(string key) => _messages.TryRemove(key, out _);

    /// <inheritdoc/>
    public void Reset() => _messages.Clear();

    /// <inheritdoc/>
    public ImmutableArray<KeyValuePair<string, T>> GetState() => ImmutableCollectionsMarshal.AsImmutableArray(_messages.ToArray());
}
