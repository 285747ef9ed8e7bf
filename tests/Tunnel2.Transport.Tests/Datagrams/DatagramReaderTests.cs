using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Transport.Datagrams;

namespace Tunnel2.Transport.Tests.Datagrams;

public sealed class DatagramReaderTests
{
    private readonly BufferPool _buffers = new();

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(1_000)]
    [InlineData(70_000)]
    public void Datagrams_are_found_however_the_bytes_are_cut(int pieceLength)
    {
        byte[][] datagrams = [[], [1], [.. Enumerable.Range(0, 700).Select(static i => (byte)i)], new byte[65_535], [], [2, 3]];
        var bytes = datagrams.SelectMany(static one => (byte[])[(byte)(one.Length >> 8), (byte)one.Length, .. one]).ToArray();
        var reader = new DatagramReader(_buffers);
        var found = new List<byte[]>();
        foreach (var piece in bytes.Chunk(pieceLength))
        {
            ReadOnlySpan<byte> rest = piece;
            while (reader.TryRead(ref rest, out var datagram))
            {
                found.Add(datagram.ToArray());
            }

            Assert.Equal(0, rest.Length);
        }

        Assert.Equal(datagrams, found);
        Assert.Equal(0, _buffers.Outstanding);
    }

    [Fact]
    public void A_buffer_is_held_only_while_a_datagram_is_cut()
    {
        var reader = new DatagramReader(_buffers);
        Assert.Equal([], Read(reader, [0, 3, 1, 2]));
        Assert.Equal(1, _buffers.Outstanding);
        Assert.Equal([[1, 2, 3], []], Read(reader, [3, 0, 0, 0]));
        Assert.Equal(0, _buffers.Outstanding);
        Assert.Equal([[5]], Read(reader, [1, 5]));
        Assert.Equal([], Read(reader, [0, 9, 1]));
        reader.Release();
        Assert.Equal(0, _buffers.Outstanding);
        Assert.Equal([[7]], Read(reader, [0, 1, 7]));
    }

    private static byte[][] Read(DatagramReader reader, byte[] bytes)
    {
        var found = new List<byte[]>();
        ReadOnlySpan<byte> rest = bytes;
        while (reader.TryRead(ref rest, out var datagram))
        {
            found.Add(datagram.ToArray());
        }

        return [.. found];
    }

    [Fact]
    public void A_length_is_written_as_it_is_read()
    {
        var bytes = new byte[2];
        DatagramReader.WriteLength(bytes, 0x1234);
        Assert.Equal([0x12, 0x34], bytes);
        Assert.Throws<OverflowException>(() => DatagramReader.WriteLength(bytes, 65_536));
    }
}
