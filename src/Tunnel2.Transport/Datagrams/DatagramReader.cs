using System.Buffers.Binary;
using Tunnel2.Multiplexing.Buffers;

namespace Tunnel2.Transport.Datagrams;

/// <summary>
/// Finds datagrams in the bytes of a stream, where each follows its length (16 bits): docs/protocol.md section 9. Holds one datagram at
/// most, and a rented buffer only while one is cut. One caller at a time.
/// </summary>
/// <param name="buffers">Where buffers come from.</param>
internal sealed class DatagramReader(BufferPool buffers)
{
    private const int Prefix = 2;

    private byte[]? _buffer;
    private int _length;
    private int _prefixed;
    private int _filled;

    /// <summary>Writes a datagram's length, which comes before it.</summary>
    public static void WriteLength(Span<byte> destination, int length) =>
        BinaryPrimitives.WriteUInt16BigEndian(destination, checked((ushort)length));

    /// <summary>Takes the next whole datagram. Called until it returns false, it gives back the buffer of one that was cut.</summary>
    /// <param name="bytes">The stream's next bytes; those that were taken are removed.</param>
    /// <param name="datagram">The datagram, valid until the next call; may be empty.</param>
    /// <returns>False when more bytes are needed; all of them were taken.</returns>
    public bool TryRead(ref ReadOnlySpan<byte> bytes, out ReadOnlySpan<byte> datagram)
    {
        datagram = default;
        if (_prefixed == 0)
        {
            // What the last call returned is not used any more.
            Release();
            if (bytes.Length >= Prefix && bytes.Length - Prefix >= BinaryPrimitives.ReadUInt16BigEndian(bytes))
            {
                datagram = bytes.Slice(Prefix, BinaryPrimitives.ReadUInt16BigEndian(bytes));
                bytes = bytes[(Prefix + datagram.Length)..];
                return true;
            }
        }

        for (; _prefixed < Prefix; _prefixed++)
        {
            if (bytes.IsEmpty)
            {
                return false;
            }

            _length = (_length << 8) | bytes[0];
            bytes = bytes[1..];
        }

        _buffer ??= buffers.Rent(_length);
        var count = Math.Min(_length - _filled, bytes.Length);
        bytes[..count].CopyTo(_buffer.AsSpan(_filled));
        bytes = bytes[count..];
        _filled += count;
        if (_filled < _length)
        {
            return false;
        }

        datagram = _buffer.AsSpan(0, _length);
        _length = _prefixed = _filled = 0;
        return true;
    }

    /// <summary>Gives the buffer back; a datagram that was begun is lost.</summary>
    public void Release()
    {
        _length = _prefixed = _filled = 0;
        if (_buffer is { } buffer)
        {
            _buffer = null;
            buffers.Return(buffer);
        }
    }
}
