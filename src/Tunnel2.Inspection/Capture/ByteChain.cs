namespace Tunnel2.Inspection.Capture;

/// <summary>
/// The beginning of a body: appended to by one pump, read by any thread at any time without a lock. A piece once written never changes.
/// </summary>
internal sealed class ByteChain
{
    private const int SmallestNext = 4 * 1024;
    private const int Largest = 16 * 1024;

    /// <summary>What a segment costs beyond its bytes.</summary>
    private const int Overhead = 80;

    private Segment? _first;
    private Segment? _last;
    private int _allocated;
    private long _total;
    private volatile bool _isTruncated;

    /// <summary>The body's true length so far.</summary>
    public long Total => Volatile.Read(ref _total);

    /// <summary>Whether there was more than is kept.</summary>
    public bool IsTruncated => _isTruncated;

    /// <summary>Adds bytes. What finds no room is counted only, and nothing is kept after it.</summary>
    /// <param name="data">The bytes.</param>
    /// <param name="owner">Whose memory it is.</param>
    /// <param name="limit">How many bytes are kept.</param>
    public void Append(ReadOnlySpan<byte> data, ExchangeCapture owner, int limit)
    {
        Volatile.Write(ref _total, _total + data.Length);
        while (!data.IsEmpty && !_isTruncated)
        {
            var last = _last;
            var room = last is null ? 0 : last.Bytes.Length - last.Count;
            if (room > 0)
            {
                var count = Math.Min(room, data.Length);
                data[..count].CopyTo(last!.Bytes.AsSpan(last.Count));
                Volatile.Write(ref last.Count, last.Count + count);
                data = data[count..];
                continue;
            }

            // A small body has exactly its size; one that comes in small pieces does not get a segment for each.
            var wanted = _allocated == 0 ? data.Length : Math.Max(data.Length, SmallestNext);
            var size = Math.Min(Math.Min(wanted, Largest), limit - _allocated);
            if (size <= 0 || !owner.TryReserve(size + Overhead))
            {
                _isTruncated = true;
                break;
            }

            var next = new Segment(GC.AllocateUninitializedArray<byte>(size));
            _allocated += size;
            _last = next;
            if (last is null)
            {
                Volatile.Write(ref _first, next);
            }
            else
            {
                Volatile.Write(ref last.Next, next);
            }
        }
    }

    /// <summary>Counts bytes that are not at hand.</summary>
    public void Skip(long count)
    {
        if (count > 0)
        {
            Volatile.Write(ref _total, _total + count);
            _isTruncated = true;
        }
    }

    /// <summary>Lets go of all bytes; called by any thread.</summary>
    public void Release()
    {
        _isTruncated = true;
        Volatile.Write(ref _first, null);
        _last = null;
    }

    /// <summary>A copy of what is kept now.</summary>
    public byte[] ToArray()
    {
        using var copy = new MemoryStream();
        for (var segment = Volatile.Read(ref _first); segment is not null; segment = Volatile.Read(ref segment.Next))
        {
            copy.Write(segment.Bytes, 0, Volatile.Read(ref segment.Count));
        }

        return copy.ToArray();
    }

    private sealed class Segment(byte[] bytes)
    {
        public readonly byte[] Bytes = bytes;
        public int Count;
        public Segment? Next;
    }
}
