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
    private readonly IMessageObserver<T>? _observer;

    /// <summary>Creates an empty store with room for <paramref name="capacity"/> keys.</summary>
    public LockedMessageStore(int capacity = 0, IMessageObserver<T>? observer = null)
    {
        _messages = new Dictionary<string, T>(capacity);
        _observer = observer;
    }

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
            _observer?.OnSet(key, value);
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
            if (!_messages.Remove(key))
            {
                return false;
            }

            _observer?.OnDeleted(key);
            return true;
        }
    }

    /// <inheritdoc/>
    public void Reset()
    {
        lock (_gate)
        {
            _messages.Clear();
            _observer?.OnReset();
        }
    }

    /// <inheritdoc/>
    public ImmutableArray<KeyValuePair<string, T>> GetState()
    {
        lock (_gate)
        {
            return StateUnsynchronized();
        }
    }

    /// <inheritdoc/>
    public void Join<TState>(TState state, Action<TState, ImmutableArray<KeyValuePair<string, T>>> join)
    {
        lock (_gate)
        {
            join(state, StateUnsynchronized());
        }
    }

    private ImmutableArray<KeyValuePair<string, T>> StateUnsynchronized()
    {
        var state = new KeyValuePair<string, T>[_messages.Count];
        ((ICollection<KeyValuePair<string, T>>)_messages).CopyTo(state, 0);
        return ImmutableCollectionsMarshal.AsImmutableArray(state);
    }
}
