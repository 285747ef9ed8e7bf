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

    /// <summary>Creates an empty store with room for <paramref name="capacity"/> keys.</summary>
    public ReaderWriterLockMessageStore(int capacity = 0) => _messages = new Dictionary<string, T>(capacity);

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
            return _messages.Remove(key);
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
            var state = new KeyValuePair<string, T>[_messages.Count];
            ((ICollection<KeyValuePair<string, T>>)_messages).CopyTo(state, 0);
            return ImmutableCollectionsMarshal.AsImmutableArray(state);
        }
        finally
        {
            _gate.ExitReadLock();
        }
    }

    /// <inheritdoc/>
    public void Dispose() => _gate.Dispose();
}
