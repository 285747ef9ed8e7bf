using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;

namespace Tunnel2.Multiplexing.Tests.Streams;

public class ReceiveBufferTests
{
    private const int Frame = 16 * 1024;

    private readonly BufferPool _pool = new();
    private ReceiveBuffer _buffer;

    [Fact]
    public void A_stream_that_is_read_as_fast_as_it_comes_is_given_frame_by_frame()
    {
        for (var i = 0; i < 8; i++)
        {
            _buffer.AppendData(new byte[Frame], _pool);
            Assert.Equal([Frame], Read());
        }
    }

    [Fact]
    public void What_comes_together_is_given_in_large_pieces_and_after_once_from_the_first()
    {
        Fill(6);
        Assert.Equal([Frame, Frame, 4 * Frame], Read());
        Fill(6);
        Assert.Equal([4 * Frame, 2 * Frame], Read());
        Assert.Equal(0, _pool.Outstanding);
    }

    [Fact]
    public void Frames_of_half_a_segment_are_gathered_in_twos_however_many_come_together()
    {
        for (var i = 0; i < 12; i++)
        {
            _buffer.AppendData(new byte[8 * 1024], _pool);
        }

        Assert.Equal(Enumerable.Repeat(16 * 1024, 6), Read());
    }

    [Fact]
    public void The_next_stream_begins_anew()
    {
        Fill(6);
        Assert.Equal(6 * Frame, _buffer.Clear(_pool));
        Fill(2);
        Assert.Equal([Frame, Frame], Read());
        Assert.Equal(0, _pool.Outstanding);
    }

    private void Fill(int frames)
    {
        for (var i = 0; i < frames; i++)
        {
            _buffer.AppendData(new byte[Frame], _pool);
        }
    }

    private List<int> Read()
    {
        var pieces = new List<int>();
        while (!_buffer.IsEmpty)
        {
            pieces.Add(_buffer.First.Length);
            _buffer.ConsumeData(_buffer.First.Length, _pool);
        }

        return pieces;
    }
}
