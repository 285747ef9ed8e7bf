using System.Buffers;
using System.IO.Pipelines;
using Tunnel2.Multiplexing.Buffers;

namespace Tunnel2.Transport.Epoll.Pipes;

/// <summary>
/// The bytes that a <see cref="SocketPipeReader"/> has received and its consumer has not consumed: one array, so that a parser gets one
/// segment. The array is rented when there is something to receive, and returned when everything is consumed, so a silent connection holds
/// none. Used by one thread at a time, which the reader ensures.
/// </summary>
internal sealed class ReceivedBytes(BufferPool pool) : ReadOnlySequenceSegment<byte>
{
    /// <summary>Usual for a request, in bytes.</summary>
    private const int SmallBuffer = 4 * 1024;

    /// <summary>For bulk uploads, in bytes.</summary>
    private const int LargeBuffer = 64 * 1024;

    private byte[]? _array;
    private int _start;
    private int _examined;
    private int _end;
    private int _wanted = SmallBuffer;

    /// <summary>Number of bytes not consumed yet.</summary>
    public int Length => _end - _start;

    /// <summary>Whether there are bytes that the consumer has not examined.</summary>
    public bool HasUnexamined => _end > _examined;

    public ReadOnlySequence<byte> Sequence => _array is null ? default : new ReadOnlySequence<byte>(this, _start, this, _end);

    /// <summary>The free memory after the bytes.</summary>
    public Span<byte> GetRoom()
    {
        if (_array is null)
        {
            _array = pool.Rent(_wanted);
            _start = _examined = _end = 0;
            Memory = _array;
        }
        else if (_end == _array.Length)
        {
            MakeRoom();
        }

        return _array.AsSpan(_end);
    }

    /// <summary>Bytes were received into the room.</summary>
    public void Add(int count)
    {
        // The next buffer has the size that this flow seems to fill.
        var room = _array!.Length - _end;
        if (count == room)
        {
            _wanted = Math.Min(LargeBuffer, Math.Max(_wanted, _array.Length) * 4);
        }
        else if (count < _wanted / 8)
        {
            _wanted = SmallBuffer;
        }

        _end += count;
    }

    /// <summary>Returns the array if it is empty.</summary>
    public void ReleaseIfEmpty()
    {
        if (_start == _end)
        {
            Release();
        }
    }

    public void Release()
    {
        if (_array is not null)
        {
            Memory = default;
            pool.Return(_array);
            _array = null;
        }

        _start = _examined = _end = 0;
    }

    /// <summary>See <see cref="PipeReader.AdvanceTo(SequencePosition, SequencePosition)"/>.</summary>
    /// <returns>How many bytes were consumed.</returns>
    public int AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        var consumedIndex = IndexOf(consumed, _start);
        var examinedIndex = IndexOf(examined, _examined);
        if (consumedIndex < _start || consumedIndex > _end || examinedIndex < consumedIndex || examinedIndex > _end)
        {
            throw new InvalidOperationException(
                "The reader can be advanced only to bytes that it holds, with the examined ones not before the consumed ones.");
        }

        var count = consumedIndex - _start;
        _start = consumedIndex;

        // Examined bytes stay examined. A Pipe refuses to go back; that check would gain nothing here.
        _examined = Math.Max(_examined, examinedIndex);
        ReleaseIfEmpty();
        return count;
    }

    private int IndexOf(SequencePosition position, int none)
    {
        var holder = position.GetObject();
        if (holder is null)
        {
            return none;
        }

        return ReferenceEquals(holder, this)
            ? position.GetInteger()
            : throw new InvalidOperationException("The position is not one of this reader's.");
    }

    private void MakeRoom()
    {
        var length = Length;
        var array = _array!;
        if (length <= array.Length / 2)
        {
            array.AsSpan(_start, length).CopyTo(array);
        }
        else
        {
            _array = pool.Rent(array.Length * 2);
            array.AsSpan(_start, length).CopyTo(_array);
            pool.Return(array);
            Memory = _array;
        }

        _examined -= _start;
        _start = 0;
        _end = length;
    }
}
