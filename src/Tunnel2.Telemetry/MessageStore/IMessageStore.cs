using System.Collections.Immutable;
using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.Telemetry.MessageStore;

/// <summary>The latest message of each key of one channel, readable as one consistent snapshot.</summary>
/// <remarks>
/// Every member may be called from any thread at any time. Keys are compared by ordinal value and must not be <see langword="null"/>
/// (<see cref="ArgumentNullException"/>). Stores keep and return a message as it is, so <typeparamref name="T"/> should be immutable.
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
}
