using System.Globalization;
using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests.Chunked;

public sealed class ChunkedEncoderTests
{
    [Fact]
    public void A_header_is_the_size_in_hexadecimal_and_a_line_end()
    {
        byte[] buffer = new byte[ChunkedEncoder.MaxHeaderBytes];
        foreach (int size in Sizes())
        {
            int bytes = ChunkedEncoder.WriteHeader(buffer, size);
            string expected = size.ToString("x", CultureInfo.InvariantCulture) + "\r\n";
            Assert.Equal(expected, Latin1.Text(buffer.AsSpan(0, bytes)));
            Assert.Equal(bytes, ChunkedEncoder.HeaderBytesOf(size));

            bytes = ChunkedEncoder.WriteHeaderBefore(buffer, size);
            Assert.Equal(expected, Latin1.Text(buffer.AsSpan(buffer.Length - bytes)));
        }

        static IEnumerable<int> Sizes()
        {
            for (int i = 1; i < 5000; i++)
            {
                yield return i;
            }

            for (int bit = 12; bit < 31; bit++)
            {
                yield return (1 << bit) - 1;
                yield return 1 << bit;
            }

            yield return int.MaxValue;
        }
    }

    [Fact]
    public void A_chunk_can_be_built_around_data_in_one_buffer()
    {
        byte[] buffer = new byte[ChunkedEncoder.MaxHeaderBytes + 5 + ChunkedEncoder.TrailingBytes];
        "hello"u8.CopyTo(buffer.AsSpan(ChunkedEncoder.MaxHeaderBytes));
        int header = ChunkedEncoder.WriteHeaderBefore(buffer.AsSpan(0, ChunkedEncoder.MaxHeaderBytes), 5);
        ChunkedEncoder.DataEnd.CopyTo(buffer.AsSpan(ChunkedEncoder.MaxHeaderBytes + 5));

        Assert.Equal("5\r\nhello\r\n", Latin1.Text(buffer.AsSpan(ChunkedEncoder.MaxHeaderBytes - header)));
    }

    [Fact]
    public void A_chunk_of_no_bytes_would_end_the_body_and_is_refused()
    {
        byte[] buffer = new byte[20];
        Assert.Throws<ArgumentOutOfRangeException>(() => ChunkedEncoder.WriteHeader(buffer, 0));
        Assert.Throws<ArgumentOutOfRangeException>(() => ChunkedEncoder.WriteHeaderBefore(buffer, -1));
    }

    [Fact]
    public void Too_little_room_is_a_mistake_of_the_caller()
    {
        Assert.Throws<ArgumentException>(() => ChunkedEncoder.WriteHeader(new byte[3], 16));
        Assert.Throws<ArgumentException>(() => ChunkedEncoder.WriteHeaderBefore(new byte[3], 16));
    }
}
