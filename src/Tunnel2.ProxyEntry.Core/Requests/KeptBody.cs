using System.Buffers;
using Tunnel2.Multiplexing.Buffers;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// The first bytes of a request's body, kept until the response begins: should the stream be refused, another one gets them. Used by the
/// request's pump while that runs, and otherwise by whoever runs the request.
/// </summary>
internal sealed class KeptBody
{
    /// <summary>Bodies that are larger than this are not kept: a request of theirs that is refused fails.</summary>
    public const int Limit = 16 * 1024;

    private BufferPool? _pool;
    private byte[]? _buffer;

    /// <summary>Bytes kept.</summary>
    public int Length { get; private set; }

    /// <summary>The bytes; valid until something is added or all is dropped.</summary>
    public ReadOnlyMemory<byte> Bytes => _buffer.AsMemory(0, Length);

    /// <summary>Keeps bytes behind those that are kept already.</summary>
    /// <param name="bytes">The bytes.</param>
    /// <param name="pool">What the buffer is rented from, if there is none yet.</param>
    /// <returns>False when they are too many: then none of them is kept.</returns>
    public bool TryAdd(ReadOnlySequence<byte> bytes, BufferPool pool)
    {
        if (Length + bytes.Length > Limit)
        {
            return false;
        }

        if (bytes.IsEmpty)
        {
            return true;
        }

        if (_buffer is null)
        {
            _pool = pool;
            _buffer = pool.Rent(Limit);
        }

        bytes.CopyTo(_buffer.AsSpan(Length));
        Length += (int)bytes.Length;
        return true;
    }

    /// <summary>Nothing of it is needed any more.</summary>
    public void Drop()
    {
        if (_buffer is { } buffer)
        {
            _buffer = null;
            Length = 0;
            _pool!.Return(buffer);
        }
    }
}
