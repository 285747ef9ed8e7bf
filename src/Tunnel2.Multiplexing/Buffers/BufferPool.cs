using System.Buffers;
using System.Numerics;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Multiplexing.Buffers;

/// <summary>
/// Where every buffer of the data plane comes from, with a count of what is out, so that a test (and a metric) can show that, with any end
/// a session, every buffer came back. Thread-safe.
/// </summary>
/// <remarks>
/// <see cref="ArrayPool{T}.Shared"/> keeps some thirty arrays of a size per processor. A thousand exchanges at once need a thousand, so
/// that nearly every one of them would be allocated anew and copied by the collector while it is in use. Here a size keeps as many as were
/// out at once, up to a limit in bytes; what was not needed for a while is let go.
/// </remarks>
internal sealed class BufferPool
{
    /// <summary>Larger arrays are few at a time: the shared pool has room for them.</summary>
    private const int LargestKept = 64 * 1024;

    private const int SmallestKept = 1024;

    /// <summary>How many bytes one size keeps: 2,048 buffers of the usual 16 KiB.</summary>
    private const int MaxKeptBytes = 32 * 1024 * 1024;

    /// <summary>What lay unused for as long as this is halved.</summary>
    private const int TrimPeriodMilliseconds = 10_000;

    private static readonly int _firstShift = BitOperations.Log2(SmallestKept);

    private readonly SizeClass[] _sizes = new SizeClass[BitOperations.Log2(LargestKept) - _firstShift + 1];
    private long _largeOutstanding;

    public BufferPool()
    {
        for (var i = 0; i < _sizes.Length; i++)
        {
            _sizes[i] = new SizeClass(SmallestKept << i);
        }
    }

    /// <summary>The pool that a process shares unless a test brings its own.</summary>
    public static BufferPool Shared { get; } = new();

    /// <summary>Buffers rented and not returned.</summary>
    public long Outstanding => Volatile.Read(ref _largeOutstanding) + _sizes.Sum(static size => size.Outstanding);

    /// <summary>The same by size in bytes; the size 0 has those that are larger than all that are kept.</summary>
    internal IEnumerable<(int Size, long Count)> OutstandingBySize =>
        _sizes.Select(static size => (size.Length, size.Outstanding)).Append((0, Volatile.Read(ref _largeOutstanding)));

    public byte[] Rent(int minimumLength)
    {
        if (minimumLength <= LargestKept)
        {
            return _sizes[IndexOf(minimumLength)].Rent();
        }

        Interlocked.Increment(ref _largeOutstanding);
        return ArrayPool<byte>.Shared.Rent(minimumLength);
    }

    public void Return(byte[] buffer)
    {
        if (buffer.Length > LargestKept)
        {
            Interlocked.Decrement(ref _largeOutstanding);
            ArrayPool<byte>.Shared.Return(buffer);
        }
        else
        {
            _sizes[IndexOf(buffer.Length)].Return(buffer);
        }
    }

    private static int IndexOf(int length) => length <= SmallestKept ? 0 : BitOperations.Log2((uint)length - 1) + 1 - _firstShift;

    private sealed class SizeClass(int length)
    {
        private readonly ShortLock _gate = new();
        private readonly Stack<byte[]> _kept = new();
        private long _outstanding;
        private int _unused;
        private long _trimAt = Environment.TickCount64 + TrimPeriodMilliseconds;

        public int Length => length;

        /// <summary>Rented and not returned; each size counts its own, under the lock that it takes anyway.</summary>
        public long Outstanding => Volatile.Read(ref _outstanding);

        public byte[] Rent()
        {
            using (_gate.EnterScope())
            {
                _outstanding++;
                if (_kept.TryPop(out var buffer))
                {
                    _unused = Math.Min(_unused, _kept.Count);
                    return buffer;
                }
            }

            return GC.AllocateUninitializedArray<byte>(length);
        }

        public void Return(byte[] buffer)
        {
            using (_gate.EnterScope())
            {
                _outstanding--;
                if ((_kept.Count + 1) * (long)length <= MaxKeptBytes)
                {
                    _kept.Push(buffer);
                }

                if (Environment.TickCount64 >= _trimAt)
                {
                    TrimUnsynchronized();
                }
            }
        }

        private void TrimUnsynchronized()
        {
            for (var surplus = _unused / 2; surplus > 0; surplus--)
            {
                _kept.Pop();
            }

            _unused = _kept.Count;
            _trimAt = Environment.TickCount64 + TrimPeriodMilliseconds;
        }
    }
}
