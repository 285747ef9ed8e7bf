using System.Numerics;

namespace Tunnel2.Http1;

/// <summary>
/// Writes the parts of the chunked coding (RFC 9112 section 7.1) around data. To send a chunk from one contiguous buffer, reserve
/// <see cref="MaxHeaderBytes"/> before the data and <see cref="TrailingBytes"/> after it, fill in the data, and then call
/// <see cref="WriteHeaderBefore"/> to write the header directly before it.
/// </summary>
internal static class ChunkedEncoder
{
    /// <summary>How many bytes a chunk header has at most: eight digits and CR LF.</summary>
    public const int MaxHeaderBytes = 10;

    /// <summary>The bytes after a chunk's data: CR LF.</summary>
    public const int TrailingBytes = 2;

    /// <summary>The end of a body without trailers.</summary>
    public static ReadOnlySpan<byte> LastChunk => "0\r\n\r\n"u8;

    /// <summary>The last chunk of a body with trailers: fields and an empty line follow (see <see cref="HeadWriter"/>).</summary>
    public static ReadOnlySpan<byte> LastChunkBeforeTrailers => "0\r\n"u8;

    /// <summary>The bytes after a chunk's data.</summary>
    public static ReadOnlySpan<byte> DataEnd => "\r\n"u8;

    /// <summary>Bytes of the header of a chunk with <paramref name="size"/> bytes of data.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The size is not positive: a chunk of size zero would end the body.</exception>
    public static int HeaderBytesOf(int size)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(size);
        return ((BitOperations.Log2((uint)size) >> 2) + 1) + 2;
    }

    /// <summary>Writes a chunk's header at the start of <paramref name="destination"/>.</summary>
    /// <returns>Bytes written, at most <see cref="MaxHeaderBytes"/>.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The size is not positive.</exception>
    /// <exception cref="ArgumentException">The destination is too small.</exception>
    public static int WriteHeader(Span<byte> destination, int size)
    {
        int bytes = HeaderBytesOf(size);
        if (destination.Length < bytes)
        {
            throw new ArgumentException("There is no room for the chunk header.", nameof(destination));
        }

        destination[bytes - 1] = (byte)'\n';
        destination[bytes - 2] = (byte)'\r';
        uint rest = (uint)size;
        for (int i = bytes - 3; i >= 0; i--)
        {
            destination[i] = "0123456789abcdef"u8[(int)(rest & 0xF)];
            rest >>= 4;
        }

        return bytes;
    }

    /// <summary>Writes a chunk's header at the end of <paramref name="reserved"/>, directly before the data.</summary>
    /// <returns>Bytes written: the chunk begins at <c>reserved.Length</c> minus this.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The size is not positive.</exception>
    /// <exception cref="ArgumentException">Fewer bytes are reserved than the header needs.</exception>
    public static int WriteHeaderBefore(Span<byte> reserved, int size)
    {
        int bytes = HeaderBytesOf(size);
        if (reserved.Length < bytes)
        {
            throw new ArgumentException("There is no room for the chunk header.", nameof(reserved));
        }

        return WriteHeader(reserved[^bytes..], size);
    }
}
