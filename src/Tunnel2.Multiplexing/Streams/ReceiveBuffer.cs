using System.Diagnostics;
using Tunnel2.Multiplexing.Buffers;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>
/// What arrived for a stream and was not consumed yet: a ring of pooled segments. Small frames are gathered in the last segment, so that
/// a peer that sends its window byte by byte costs no more memory than one that sends it whole. The stream's lock guards it.
/// </summary>
internal struct ReceiveBuffer
{
    private const int SmallSegment = 4 * 1024;
    private const int LargeSegment = 16 * 1024;

    /// <summary>The segments of a body that comes faster than it is read: the consumer sends as much at once.</summary>
    private const int BulkSegment = 64 * 1024;

    /// <summary>The largest ring that is kept: what a window of 256 KiB fills.</summary>
    private const int KeptSegments = 32;

    private Segment[]? _ring;
    private int _first;
    private int _count;
    private bool _isBulk;

    public readonly bool IsEmpty => _count == 0;

    /// <summary>Whether one segment is all there is.</summary>
    public readonly bool HasOne => _count == 1;

    /// <summary>Body bytes held; header blocks have no credit and do not count.</summary>
    public int DataLength { get; private set; }

    public readonly bool FirstIsHead => _ring![_first].IsHead;

    public readonly ReadOnlyMemory<byte> First => _ring![_first].Memory;

    public void AppendHead(ReadOnlySpan<byte> block, BufferPool pool) => Append(block, isHead: true, block.Length, pool);

    public void AppendData(ReadOnlySpan<byte> payload, BufferPool pool)
    {
        DataLength += payload.Length;
        if (_count > 0)
        {
            ref var last = ref _ring![(_first + _count - 1) & (_ring.Length - 1)];
            var room = last.IsHead ? 0 : last.Array.Length - last.End;
            if (room >= payload.Length)
            {
                payload.CopyTo(last.Array.AsSpan(last.End));
                last.End += payload.Length;
                return;
            }
        }

        Append(payload, isHead: false, CapacityFor(payload.Length), pool);
    }

    private int CapacityFor(int length)
    {
        if (length > LargeSegment / 2)
        {
            // Once it came faster than it was read it will again: what arrives together is then sent together.
            _isBulk |= _count > 1;
            return _isBulk ? BulkSegment : LargeSegment;
        }

        return length > SmallSegment / 2 || _count > 0 ? LargeSegment : SmallSegment;
    }

    public void ConsumeHead(BufferPool pool)
    {
        Debug.Assert(FirstIsHead, "A block is consumed whole, where it is next.");
        Pop(pool);
    }

    public void ConsumeData(int count, BufferPool pool)
    {
        ref var first = ref _ring![_first];
        Debug.Assert(!first.IsHead && count <= first.End - first.Start, "Only bytes that were shown can be consumed.");
        first.Start += count;
        DataLength -= count;
        if (first.Start == first.End)
        {
            Pop(pool);
        }
    }

    /// <summary>Gives back all segments except the first, which its reader may be looking at.</summary>
    /// <returns>Body bytes that were held in what was given back.</returns>
    public int ClearAfterFirst(BufferPool pool)
    {
        var given = 0;
        while (_count > 1)
        {
            ref var last = ref _ring![(_first + _count - 1) & (_ring.Length - 1)];
            given += last.IsHead ? 0 : last.End - last.Start;
            pool.Return(last.Array);
            last = default;
            _count--;
        }

        DataLength -= given;
        return given;
    }

    /// <summary>Gives everything back to the pool.</summary>
    /// <returns>Body bytes that were held.</returns>
    public int Clear(BufferPool pool)
    {
        var held = DataLength;
        while (_count > 0)
        {
            Pop(pool);
        }

        DataLength = 0;
        _isBulk = false;
        if (_ring?.Length > KeptSegments)
        {
            // What a window that had grown needed is not kept for the next stream.
            _ring = null;
            _first = 0;
        }

        return held;
    }

    private void Append(ReadOnlySpan<byte> bytes, bool isHead, int capacity, BufferPool pool)
    {
        _ring ??= new Segment[2];
        if (_count == _ring.Length)
        {
            Grow();
        }

        var array = pool.Rent(Math.Max(capacity, bytes.Length));
        bytes.CopyTo(array);
        _ring[(_first + _count) & (_ring.Length - 1)] = new Segment { Array = array, End = bytes.Length, IsHead = isHead };
        _count++;
    }

    private void Pop(BufferPool pool)
    {
        pool.Return(_ring![_first].Array);
        _ring[_first] = default;
        _first = (_first + 1) & (_ring.Length - 1);
        _count--;
    }

    private void Grow()
    {
        var larger = new Segment[_ring!.Length * 2];
        for (var i = 0; i < _count; i++)
        {
            larger[i] = _ring[(_first + i) & (_ring.Length - 1)];
        }

        _ring = larger;
        _first = 0;
    }

    private struct Segment
    {
        public byte[] Array;
        public int Start;
        public int End;
        public bool IsHead;

        public readonly ReadOnlyMemory<byte> Memory => Array.AsMemory(Start, End - Start);
    }
}
