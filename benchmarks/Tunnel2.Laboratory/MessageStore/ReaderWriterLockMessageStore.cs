using System.Collections.Immutable;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Laboratory.MessageStore;

/// <summary>A dictionary behind a <see cref="ReaderWriterLockSlim"/>: snapshots run beside each other, stores alone.</summary>
/// <remarks>The lock is disposed with the store; a disposed store throws <see cref="ObjectDisposedException"/>.</remarks>
/// <typeparam name="T">The message.</typeparam>
internal sealed class ReaderWriterLockMessageStore<T> : IMessageStore<T>, IDisposable
{
    private readonly ReaderWriterLockSlim _gate = new(LockRecursionPolicy.NoRecursion);
    private readonly Dictionary<string, T> _messages;
    private readonly IMessageObserver<T>? _observer;

    /// <summary>Creates an empty store with room for <paramref name="capacity"/> keys.</summary>
    public ReaderWriterLockMessageStore(int capacity = 0, IMessageObserver<T>? observer = null)
    {
        _messages = new Dictionary<string, T>(capacity);
        _observer = observer;
    }

    /// <inheritdoc/>
    public int Count
    {
        get
        {
            _gate.EnterReadLock();
            try
            {
                return _messages.Count;
            }
            finally
            {
                _gate.ExitReadLock();
            }
        }
    }

    /// <inheritdoc/>
    public void Set(string key, T value)
    {
        _gate.EnterWriteLock();
        try
        {
            _messages[key] = value;
            _observer?.OnSet(key, value);
        }
        finally
        {
            _gate.ExitWriteLock();
        }
    }

    /// <inheritdoc/>
    public bool TryGet(string key, [MaybeNullWhen(false)] out T value)
    {
        _gate.EnterReadLock();
        try
        {
            return _messages.TryGetValue(key, out value);
        }
        finally
        {
            _gate.ExitReadLock();
        }
    }

    /// <inheritdoc/>
    public bool TryDelete(string key)
    {
        _gate.EnterWriteLock();
        try
        {
            if (!_messages.Remove(key))
            {
                return false;
            }

            _observer?.OnDeleted(key);
            return true;
        }
        finally
        {
            _gate.ExitWriteLock();
        }
    }

    /// <inheritdoc/>
    public void Reset()
    {
        _gate.EnterWriteLock();
        try
        {
            _messages.Clear();
            _observer?.OnReset();
        }
        finally
        {
            _gate.ExitWriteLock();
        }
    }

    /// <inheritdoc/>
    public ImmutableArray<KeyValuePair<string, T>> GetState()
    {
        _gate.EnterReadLock();
        try
        {
            return StateUnsynchronized();
        }
        finally
        {
            _gate.ExitReadLock();
        }
    }

    /// <inheritdoc/>
    public void Join<TState>(TState state, Action<TState, ImmutableArray<KeyValuePair<string, T>>> join)
    {
        // Reading would keep changes out, but not a second join.
        _gate.EnterWriteLock();
        try
        {
            join(state, StateUnsynchronized());
        }
        finally
        {
            _gate.ExitWriteLock();
        }
    }

    /// <inheritdoc/>
    public void Dispose() => _gate.Dispose();

    private ImmutableArray<KeyValuePair<string, T>> StateUnsynchronized()
    {
        var state = new KeyValuePair<string, T>[_messages.Count];
        ((ICollection<KeyValuePair<string, T>>)_messages).CopyTo(state, 0);
        return ImmutableCollectionsMarshal.AsImmutableArray(state);
    }
}
