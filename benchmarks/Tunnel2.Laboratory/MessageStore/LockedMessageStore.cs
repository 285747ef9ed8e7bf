using System.Collections.Immutable;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Laboratory.MessageStore;

/// <summary>A dictionary behind one lock: the baseline of the race, and hard to beat for what it costs to read.</summary>
/// <typeparam name="T">The message.</typeparam>
internal sealed class LockedMessageStore<T> : IMessageStore<T>
{
    private readonly Lock _gate = new();
    private readonly Dictionary<string, T> _messages;

    /// <summary>Creates an empty store with room for <paramref name="capacity"/> keys.</summary>
    public LockedMessageStore(int capacity = 0) => _messages = new Dictionary<string, T>(capacity);

    /// <inheritdoc/>
    public int Count
    {
        get
        {
            lock (_gate)
            {
                return _messages.Count;
            }
        }
    }

    /// <inheritdoc/>
    public void Set(string key, T value)
    {
        lock (_gate)
        {
            _messages[key] = value;
        }
    }

    /// <inheritdoc/>
    public bool TryGet(string key, [MaybeNullWhen(false)] out T value)
    {
        lock (_gate)
        {
            return _messages.TryGetValue(key, out value);
        }
    }

    /// <inheritdoc/>
    public bool TryDelete(string key)
    {
        lock (_gate)
        {
            return _messages.Remove(key);
        }
    }

    /// <inheritdoc/>
    public void Reset()
    {
        lock (_gate)
        {
            _messages.Clear();
        }
    }

    /// <inheritdoc/>
    public ImmutableArray<KeyValuePair<string, T>> GetState()
    {
        lock (_gate)
        {
            var state = new KeyValuePair<string, T>[_messages.Count];
            ((ICollection<KeyValuePair<string, T>>)_messages).CopyTo(state, 0);
            return ImmutableCollectionsMarshal.AsImmutableArray(state);
        }
    }
}
