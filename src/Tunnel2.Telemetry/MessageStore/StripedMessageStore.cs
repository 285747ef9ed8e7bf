using System.Collections.Immutable;
using System.Diagnostics.CodeAnalysis;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Tunnel2.Telemetry.MessageStore;

/// <summary>
/// The store of Tunnel2: the keys are spread over stripes with a spin lock each, and the last snapshot is kept until something changes.
/// </summary>
/// <remarks>
/// <para>
/// <b>Snapshot.</b> It is taken with every stripe held, and the array stays in <c>_snapshot</c> until the next change, so readers of a
/// quiet store neither lock nor allocate. A change clears that field with its stripe still held. The builder of a snapshot holds all
/// stripes, so a change either happened before it (and is in it) or finds the new array and clears it. The clearing is an interlocked
/// operation, made only when there is something to clear. After <see cref="Set"/> has returned, no thread gets an older snapshot.
/// </para>
/// <para>
/// <b>Joining.</b> <see cref="Join{TState}"/> runs with every stripe held, and a change stores and notifies with its stripe held. So each
/// change of a key is either in the snapshot or notified, exactly once, and no numbers have to be compared.
/// </para>
/// <para><b>Lock order.</b> Stripes are taken in ascending order; a thread that holds one takes no other lock of this store.</para>
/// </remarks>
/// <typeparam name="T">The message.</typeparam>
internal sealed class StripedMessageStore<T> : IMessageStore<T>
{
    private readonly MessageTable<T>[] _stripes;
    private readonly int _shift;
    private readonly IMessageObserver<T>? _observer;
    private KeyValuePair<string, T>[]? _snapshot;

    /// <summary>Creates an empty store.</summary>
    /// <param name="capacity">The number of keys to reserve memory for; the store can grow.</param>
    /// <param name="stripes">A power of two from 1 to 256, or 0 for <see cref="DefaultStripes"/>.</param>
    /// <param name="observer">Gets every change; may be null.</param>
    /// <exception cref="ArgumentOutOfRangeException">A parameter is out of its range.</exception>
    public StripedMessageStore(int capacity = 0, int stripes = 0, IMessageObserver<T>? observer = null)
    {
        _observer = observer;
        stripes = stripes == 0 ? DefaultStripes : stripes;
        ArgumentOutOfRangeException.ThrowIfNegative(capacity);
        if (stripes is < 1 or > 256 || !BitOperations.IsPow2(stripes))
        {
            throw new ArgumentOutOfRangeException(nameof(stripes), stripes, "The number of stripes is a power of two from 1 to 256.");
        }

        _stripes = new MessageTable<T>[stripes];
        _shift = 32 - BitOperations.Log2((uint)stripes);
        for (int i = 0; i < stripes; i++)
        {
            // A quarter more than the even share, because hashes do not spread evenly.
            _stripes[i] = new MessageTable<T>((capacity / stripes) + (capacity / stripes / 4));
        }
    }

    /// <summary>Gets the default number of stripes: one for every two cores, at most 8.</summary>
    /// <remarks>
    /// A snapshot takes all stripes. On few cores a store's cost is the transfer of cache lines that another core has just written, which
    /// stripes do not save: on two cores one stripe won every workload.
    /// </remarks>
    public static int DefaultStripes { get; } =
        (int)Math.Min(8, BitOperations.RoundUpToPowerOf2((uint)((Environment.ProcessorCount + 1) / 2)));

    /// <inheritdoc/>
    public int Count
    {
        get
        {
            EnterAll();
            int count = CountUnsynchronized();
            ExitAll();
            return count;
        }
    }

    /// <inheritdoc/>
    public void Set(string key, T value)
    {
        ArgumentNullException.ThrowIfNull(key);
        int hash = KeyHash.Of(key);
        MessageTable<T> stripe = StripeOf(hash);
        stripe.Enter();
        try
        {
            stripe.SetUnsynchronized(key, hash, value);
            DropSnapshotUnsynchronized();
            _observer?.OnSet(key, value);
        }
        finally
        {
            stripe.Exit();
        }
    }

    /// <inheritdoc/>
    public bool TryGet(string key, [MaybeNullWhen(false)] out T value)
    {
        ArgumentNullException.ThrowIfNull(key);
        int hash = KeyHash.Of(key);
        MessageTable<T> stripe = StripeOf(hash);
        stripe.Enter();
        bool found = stripe.TryGetUnsynchronized(key, hash, out value);
        stripe.Exit();
        return found;
    }

    /// <inheritdoc/>
    public bool TryDelete(string key)
    {
        ArgumentNullException.ThrowIfNull(key);
        int hash = KeyHash.Of(key);
        MessageTable<T> stripe = StripeOf(hash);
        stripe.Enter();
        try
        {
            if (!stripe.TryDeleteUnsynchronized(key, hash))
            {
                return false;
            }

            DropSnapshotUnsynchronized();
            _observer?.OnDeleted(key);

            return true;
        }
        finally
        {
            stripe.Exit();
        }
    }

    /// <inheritdoc/>
    public void Reset()
    {
        EnterAll();
        try
        {
            foreach (MessageTable<T> stripe in _stripes)
            {
                stripe.ClearUnsynchronized();
            }

            DropSnapshotUnsynchronized();
            _observer?.OnReset();
        }
        finally
        {
            ExitAll();
        }
    }

    /// <inheritdoc/>
    public ImmutableArray<KeyValuePair<string, T>> GetState()
    {
        KeyValuePair<string, T>[]? snapshot = Volatile.Read(ref _snapshot);
        if (snapshot is null)
        {
            EnterAll();
            try
            {
                snapshot = SnapshotUnsynchronized();
            }
            finally
            {
                ExitAll();
            }
        }

        return ImmutableCollectionsMarshal.AsImmutableArray(snapshot);
    }

    /// <inheritdoc/>
    public void Join<TState>(TState state, Action<TState, ImmutableArray<KeyValuePair<string, T>>> join)
    {
        EnterAll();
        try
        {
            join(state, ImmutableCollectionsMarshal.AsImmutableArray(SnapshotUnsynchronized()));
        }
        finally
        {
            ExitAll();
        }
    }

    /// <summary>
    /// One hash per call: the stripe comes from its mixed bits (Fibonacci hashing), the place in the stripe from its low bits.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private MessageTable<T> StripeOf(int hash) => _stripes[(int)((ulong)((uint)hash * 2_654_435_769) >> _shift)];

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void DropSnapshotUnsynchronized()
    {
        if (_snapshot is not null)
        {
            Interlocked.Exchange(ref _snapshot, null);
        }
    }

    private KeyValuePair<string, T>[] SnapshotUnsynchronized()
    {
        if (_snapshot is { } current)
        {
            return current;
        }

        int count = CountUnsynchronized();
        KeyValuePair<string, T>[] snapshot = count == 0 ? [] : new KeyValuePair<string, T>[count];
        Span<KeyValuePair<string, T>> rest = snapshot;
        foreach (MessageTable<T> stripe in _stripes)
        {
            stripe.CopyToUnsynchronized(rest);
            rest = rest[stripe.CountUnsynchronized..];
        }

        Volatile.Write(ref _snapshot, snapshot);
        return snapshot;
    }

    private int CountUnsynchronized()
    {
        int count = 0;
        foreach (MessageTable<T> stripe in _stripes)
        {
            count += stripe.CountUnsynchronized;
        }

        return count;
    }

    private void EnterAll()
    {
        foreach (MessageTable<T> stripe in _stripes)
        {
            stripe.Enter();
        }
    }

    private void ExitAll()
    {
        foreach (MessageTable<T> stripe in _stripes)
        {
            stripe.Exit();
        }
    }
}
