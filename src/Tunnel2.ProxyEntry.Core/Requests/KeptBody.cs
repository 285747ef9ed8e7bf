using System.Buffers;
using Tunnel2.Multiplexing.Buffers;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// The first bytes of a request's body, kept until the response begins. If the stream is refused, another stream gets them. The request's
/// pump uses it while it runs, and at other times the code that runs the request.
/// </summary>
internal sealed class KeptBody
{
    /// <summary>Larger bodies are not kept: if such a request is refused, it fails.</summary>
    public const int Limit = 16 * 1024;

    private BufferPool? _pool;
    private byte[]? _buffer;

    /// <summary>Bytes kept.</summary>
    public int Length { get; private set; }

    /// <summary>The bytes; valid until the next <see cref="TryAdd"/> or <see cref="Drop"/>.</summary>
    public ReadOnlyMemory<byte> Bytes => _buffer.AsMemory(0, Length);

    /// <summary>Appends bytes.</summary>
    /// <param name="bytes">The bytes.</param>
    /// <param name="pool">The pool for the buffer, if there is none yet.</param>
    /// <returns>False when they are too many; then none of them is kept.</returns>
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

    /// <summary>The bytes are no longer needed.</summary>
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
