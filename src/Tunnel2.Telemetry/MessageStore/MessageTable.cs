using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace Tunnel2.Telemetry.MessageStore;

/// <summary>One stripe of a <see cref="StripedMessageStore{T}"/>: a chained hash table with its own spin lock.</summary>
/// <remarks>
/// The messages are dense in one array, in the form in which a snapshot returns them. So a snapshot is one block copy per stripe and visits
/// no empty place. The chains are indices in separate arrays. Keys are hashed by <see cref="KeyHash"/> until a chain gets suspiciously
/// long, and from then on by the process's randomized string hash. All members except the lock's own need the lock (…Unsynchronized).
/// </remarks>
/// <typeparam name="T">The message.</typeparam>
internal sealed class MessageTable<T>
{
    private const int MinimumCapacity = 4;

    /// <summary>
    /// About 1.5 µs on machines for which .NET normalises its spins; measured against 10 and against SpinWait's growing steps.
    /// </summary>
    private const int SpinsPerRound = 40;
    private const int SpinRounds = 10;

    /// <summary>A chain of this length is no accident: the keys were chosen to collide.</summary>
    private const int LongestChain = 100;

    private int _held;
    private int _count;
    private bool _randomized;
    private int[] _buckets;
    private Link[] _links;
    private KeyValuePair<string, T>[] _messages;

    /// <summary>Never read: it keeps the locks of neighbouring stripes in different cache lines.</summary>
    internal readonly CacheLinePadding Padding;

    public MessageTable(int capacity)
    {
        Padding = default;
        int size = (int)BitOperations.RoundUpToPowerOf2((uint)Math.Max(capacity, MinimumCapacity));
        _buckets = NewBuckets(size);
        _links = new Link[size];
        _messages = new KeyValuePair<string, T>[size];
    }

    /// <summary>Gets the number of keys.</summary>
    public int CountUnsynchronized => _count;

    /// <summary>Takes the lock. The sections under it take tens of nanoseconds, far less than putting a thread to sleep costs.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Enter()
    {
        if (Interlocked.CompareExchange(ref _held, 1, 0) != 0)
        {
            EnterContended();
        }
    }

    /// <summary>Releases the lock.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Exit()
    {
        Debug.Assert(_held == 1, "The lock is held.");
        Volatile.Write(ref _held, 0);
    }

    public void SetUnsynchronized(string key, int hash, T value)
    {
        Debug.Assert(_held == 1, "The lock is held.");
        hash = HashUnsynchronized(key, hash);
        int index = FindUnsynchronized(key, hash, out int visited);
        if (index >= 0)
        {
            ref KeyValuePair<string, T> message = ref _messages[index];
            message = new KeyValuePair<string, T>(message.Key, value);
            return;
        }

        if (visited > LongestChain && !_randomized)
        {
            _randomized = true;
            RebuildUnsynchronized(_messages.Length);
            hash = HashUnsynchronized(key, hash);
        }

        if (_count == _messages.Length)
        {
            RebuildUnsynchronized(checked(_messages.Length * 2));
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
        hash = HashUnsynchronized(key, hash);
        int index = FindUnsynchronized(key, hash, out _);
        value = index < 0 ? default : _messages[index].Value;
        return index >= 0;
    }

    public bool TryDeleteUnsynchronized(string key, int hash)
    {
        Debug.Assert(_held == 1, "The lock is held.");
        hash = HashUnsynchronized(key, hash);
        int index = FindUnsynchronized(key, hash, out _);
        if (index < 0)
        {
            return false;
        }

        // The last message moves to the free place, so that the messages stay dense.
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

    /// <summary>Measures the longest chain, for tests.</summary>
    internal int LongestChainUnsynchronized()
    {
        int longest = 0;
        foreach (int bucket in _buckets)
        {
            int length = 0;
            for (int index = bucket; index >= 0; index = _links[index].Next)
            {
                length++;
            }

            longest = Math.Max(longest, length);
        }

        return longest;
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
        int rounds = 0;
        do
        {
            // A longer wait beats more attempts: in that time the holder's core does a run of operations with the data in its own cache.
            // Then it yields, and never uses a timer: with more threads than cores the holder may have lost its core and needs one back.
            if (rounds++ < SpinRounds)
            {
                Thread.SpinWait(SpinsPerRound);
            }
            else
            {
                Thread.Yield();
            }
        }
        while (Volatile.Read(ref _held) != 0 || Interlocked.CompareExchange(ref _held, 1, 0) != 0);
    }

    /// <summary>The caller's cheap hash, unless chosen keys have made it collide.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private int HashUnsynchronized(string key, int hash) => _randomized ? key.GetHashCode() : hash;

    private int FindUnsynchronized(string key, int hash, out int visited)
    {
        visited = 0;
        Link[] links = _links;
        int index = _buckets[hash & (_buckets.Length - 1)];
        while ((uint)index < (uint)links.Length)
        {
            if (links[index].Hash == hash && string.Equals(_messages[index].Key, key))
            {
                return index;
            }

            index = links[index].Next;
            visited++;
        }

        return -1;
    }

    /// <summary>Changes the link in the chain that points at <paramref name="index"/> to point at <paramref name="target"/>.</summary>
    private void ReplaceLinkUnsynchronized(int index, int target)
    {
        ref int pointer = ref _buckets[_links[index].Hash & (_buckets.Length - 1)];
        while (pointer != index)
        {
            pointer = ref _links[pointer].Next;
        }

        pointer = target;
    }

    private void RebuildUnsynchronized(int size)
    {
        int[] buckets = NewBuckets(size);
        var links = new Link[size];
        var messages = new KeyValuePair<string, T>[size];
        Array.Copy(_messages, messages, _count);
        for (int i = 0; i < _count; i++)
        {
            int hash = HashUnsynchronized(messages[i].Key, _links[i].Hash);
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
