using System.Collections.Immutable;
using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.Telemetry.MessageStore;

/// <summary>The latest message per key of one channel, readable as one consistent snapshot.</summary>
/// <remarks>
/// Every member may be called from any thread at any time. Keys are compared by ordinal value and are never <see langword="null"/>
/// (<see cref="ArgumentNullException"/>). A message is the caller's: stores keep and hand out <typeparamref name="T"/> as it is, so it
/// should be immutable.
/// </remarks>
/// <typeparam name="T">The message.</typeparam>
internal interface IMessageStore<T>
{
    /// <summary>Gets the number of keys at one moment during the call.</summary>
    int Count { get; }

    /// <summary>Makes <paramref name="value"/> the latest message of <paramref name="key"/>, whether or not there was one.</summary>
    void Set(string key, T value);

    /// <summary>Reads the latest message of one key.</summary>
    /// <returns><see langword="false"/> when the key has none.</returns>
    bool TryGet(string key, [MaybeNullWhen(false)] out T value);

    /// <summary>Forgets one key.</summary>
    /// <returns><see langword="false"/> when there was nothing to forget.</returns>
    bool TryDelete(string key);

    /// <summary>Forgets every key, at one moment.</summary>
    void Reset();

    /// <summary>Reads all keys and their latest messages as they were at one moment during the call, in no particular order.</summary>
    /// <remarks>The array never changes afterwards; a store may hand the same one to many callers.</remarks>
    ImmutableArray<KeyValuePair<string, T>> GetState();
}
