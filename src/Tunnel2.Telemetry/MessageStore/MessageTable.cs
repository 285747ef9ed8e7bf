using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace Tunnel2.Telemetry.MessageStore;

/// <summary>One stripe of a <see cref="StripedMessageStore{T}"/>: a chained hash table with its own spin lock.</summary>
/// <remarks>
/// The messages lie dense in one array, in the form in which a snapshot hands them out, so that a snapshot is one block copy per stripe and
/// never visits an empty place; the chains are indices beside them. Everything but the lock itself needs the lock (…Unsynchronized).
/// </remarks>
/// <typeparam name="T">The message.</typeparam>
internal sealed class MessageTable<T>
{
    private const int MinimumCapacity = 4;

    private int _held;
    private int _count;
    private int[] _buckets;
    private Link[] _links;
    private KeyValuePair<string, T>[] _messages;

#pragma warning disable CS0169, IDE0051 // Never read: it keeps the locks of neighbouring stripes off each other's cache line.
    private readonly CacheLinePadding _padding;
#pragma warning restore CS0169, IDE0051

    public MessageTable(int capacity)
    {
        int size = (int)BitOperations.RoundUpToPowerOf2((uint)Math.Max(capacity, MinimumCapacity));
        _buckets = NewBuckets(size);
        _links = new Link[size];
        _messages = new KeyValuePair<string, T>[size];
    }

    /// <summary>Gets the number of keys.</summary>
    public int CountUnsynchronized => _count;

    /// <summary>Takes the lock. The sections behind it are tens of nanoseconds long, far less than putting a thread to sleep costs.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Enter()
    {
        if (Interlocked.CompareExchange(ref _held, 1, 0) != 0)
        {
            EnterContended();
        }
    }

    /// <summary>Gives the lock back.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Exit()
    {
        Debug.Assert(_held == 1, "The lock is held.");
        Volatile.Write(ref _held, 0);
    }

    public void SetUnsynchronized(string key, int hash, T value)
    {
        Debug.Assert(_held == 1, "The lock is held.");
        int index = FindUnsynchronized(key, hash);
        if (index >= 0)
        {
            ref KeyValuePair<string, T> message = ref _messages[index];
            message = new KeyValuePair<string, T>(message.Key, value);
            return;
        }

        if (_count == _messages.Length)
        {
            GrowUnsynchronized();
        }

        index = _count;
        ref int bucket = ref _buckets[hash & (_buckets.Length - 1)];
        _messages[index] = new KeyValuePair<string, T>(key, value);
        _links[index] = new Link(hash, bucket);
        bucket = index;
        _count = index + 1;
    }

    public bool TryGetUnsynchronized(string key, int hash, out T? value)
    {
        Debug.Assert(_held == 1, "The lock is held.");
        int index = FindUnsynchronized(key, hash);
        value = index < 0 ? default : _messages[index].Value;
        return index >= 0;
    }

    public bool TryDeleteUnsynchronized(string key, int hash)
    {
        Debug.Assert(_held == 1, "The lock is held.");
        int index = FindUnsynchronized(key, hash);
        if (index < 0)
        {
            return false;
        }

        // The last message moves into the hole, so that the messages stay dense.
        int last = _count - 1;
        ReplaceLinkUnsynchronized(index, _links[index].Next);
        if (index != last)
        {
            ReplaceLinkUnsynchronized(last, index);
            _links[index] = _links[last];
            _messages[index] = _messages[last];
        }

        _messages[last] = default;
        _count = last;
        return true;
    }

    public void ClearUnsynchronized()
    {
        Debug.Assert(_held == 1, "The lock is held.");
        Array.Fill(_buckets, -1);
        Array.Clear(_messages, 0, _count);
        _count = 0;
    }

    /// <summary>Copies every message to the front of <paramref name="destination"/>.</summary>
    public void CopyToUnsynchronized(Span<KeyValuePair<string, T>> destination)
    {
        Debug.Assert(_held == 1, "The lock is held.");
        _messages.AsSpan(0, _count).CopyTo(destination);
    }

    private static int[] NewBuckets(int size)
    {
        var buckets = new int[size];
        Array.Fill(buckets, -1);
        return buckets;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void EnterContended()
    {
        var spinner = default(SpinWait);
        do
        {
            // Never Sleep(1): with more threads than cores a holder may lose its core, and a yield gives it back sooner than a timer.
            spinner.SpinOnce(sleep1Threshold: -1);
        }
        while (Volatile.Read(ref _held) != 0 || Interlocked.CompareExchange(ref _held, 1, 0) != 0);
    }

    private int FindUnsynchronized(string key, int hash)
    {
        Link[] links = _links;
        int index = _buckets[hash & (_buckets.Length - 1)];
        while ((uint)index < (uint)links.Length)
        {
            if (links[index].Hash == hash && string.Equals(_messages[index].Key, key))
            {
                return index;
            }

            index = links[index].Next;
        }

        return -1;
    }

    /// <summary>Makes whatever points at <paramref name="index"/> in its chain point at <paramref name="target"/> instead.</summary>
    private void ReplaceLinkUnsynchronized(int index, int target)
    {
        ref int pointer = ref _buckets[_links[index].Hash & (_buckets.Length - 1)];
        while (pointer != index)
        {
            pointer = ref _links[pointer].Next;
        }

        pointer = target;
    }

    private void GrowUnsynchronized()
    {
        int size = checked(_messages.Length * 2);
        int[] buckets = NewBuckets(size);
        var links = new Link[size];
        var messages = new KeyValuePair<string, T>[size];
        Array.Copy(_messages, messages, _count);
        for (int i = 0; i < _count; i++)
        {
            int hash = _links[i].Hash;
            ref int bucket = ref buckets[hash & (size - 1)];
            links[i] = new Link(hash, bucket);
            bucket = i;
        }

        _buckets = buckets;
        _links = links;
        _messages = messages;
    }

    private struct Link(int hash, int next)
    {
        public readonly int Hash = hash;
        public int Next = next;
    }
}
