using System.Collections.Immutable;
using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.Telemetry.MessageStore;

/// <summary>The latest message of each key of one channel, readable as one consistent snapshot.</summary>
/// <remarks>
/// Every member may be called from any thread at any time. Keys are compared by ordinal value and must not be <see langword="null"/>
/// (<see cref="ArgumentNullException"/>). Stores keep and return a message as it is, so <typeparamref name="T"/> should be immutable. A
/// store may have one observer, given when it is made.
/// </remarks>
/// <typeparam name="T">The message.</typeparam>
internal interface IMessageStore<T>
{
    /// <summary>Gets the number of keys at one moment during the call.</summary>
    int Count { get; }

    /// <summary>Makes <paramref name="value"/> the latest message of <paramref name="key"/>, which may be new.</summary>
    void Set(string key, T value);

    /// <summary>Reads the latest message of one key.</summary>
    /// <returns><see langword="false"/> when the key has none.</returns>
    bool TryGet(string key, [MaybeNullWhen(false)] out T value);

    /// <summary>Removes one key.</summary>
    /// <returns><see langword="false"/> when the key did not exist.</returns>
    bool TryDelete(string key);

    /// <summary>Removes every key, at one moment.</summary>
    void Reset();

    /// <summary>Reads all keys and their latest messages as they were at one moment during the call, in no particular order.</summary>
    /// <remarks>The array never changes afterwards; a store may return the same one to many callers.</remarks>
    ImmutableArray<KeyValuePair<string, T>> GetState();

    /// <summary>
    /// Reads a snapshot and runs <paramref name="join"/> at the same moment: while it runs, no change happens, no other join runs, and the
    /// store's observer is not called. So each change is either in the snapshot or comes to the observer afterwards.
    /// </summary>
    /// <param name="state">Given to <paramref name="join"/>.</param>
    /// <param name="join">
    /// Gets the snapshot. It has the same rules as <see cref="IMessageObserver{T}"/>: quick, not blocking, no call of this store.
    /// </param>
    void Join<TState>(TState state, Action<TState, ImmutableArray<KeyValuePair<string, T>>> join);
}
