using System.Text;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Http1;

namespace Tunnel2.Client.Tests.Exchanges;

public sealed class ResponseChunksTests
{
    [Fact]
    public void Many_small_chunks_become_one_run_of_bytes()
    {
        var chunks = new ResponseChunks();
        var buffer = Encoding.ASCII.GetBytes("HEAD5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\nnext");
        Assert.Equal(ChunkedStatus.Done, chunks.DecodeInPlace(buffer, 4, buffer.Length, out var length));
        Assert.Equal("hello world", Encoding.ASCII.GetString(buffer, 4, length));
        Assert.Equal("next", Encoding.ASCII.GetString(buffer[chunks.Consumed..]));
        Assert.False(chunks.HasTrailers);
    }

    [Fact]
    public void A_body_cut_anywhere_is_decoded_to_the_same_bytes()
    {
        const string Wire = "5\r\nhello\r\n10;ext=1\r\n0123456789abcdef\r\n0\r\nX-Sum: 7\r\nX-Sum: 8\r\n\r\n";
        for (var cut = 1; cut < Wire.Length; cut++)
        {
            var chunks = new ResponseChunks();
            var body = new StringBuilder();
            var buffer = new byte[Wire.Length];
            var filled = Encoding.ASCII.GetBytes(Wire.AsSpan(0, cut), buffer);
            Assert.NotEqual(ChunkedStatus.Invalid, chunks.DecodeInPlace(buffer, 0, filled, out var length));
            body.Append(Encoding.ASCII.GetString(buffer, 0, length));
            var rest = filled - chunks.Consumed;
            buffer.AsSpan(chunks.Consumed, rest).CopyTo(buffer);
            filled = rest + Encoding.ASCII.GetBytes(Wire.AsSpan(cut), buffer.AsSpan(rest));
            Assert.Equal(ChunkedStatus.Done, chunks.DecodeInPlace(buffer, 0, filled, out length));
            body.Append(Encoding.ASCII.GetString(buffer, 0, length));
            Assert.Equal("hello0123456789abcdef", body.ToString());
            Assert.Equal(filled, chunks.Consumed);
            Assert.Equal(
                ["7", "8"], chunks.Trailers.ToArray().Select(field => Encoding.ASCII.GetString(field.Value(chunks.TrailerBytes(buffer)))));
        }
    }

    [Fact]
    public void The_object_serves_the_next_body_after_a_broken_one()
    {
        var chunks = new ResponseChunks();
        var broken = "5\r\nhelloXX"u8.ToArray();
        Assert.Equal(ChunkedStatus.Invalid, chunks.DecodeInPlace(broken, 0, broken.Length, out _));
        chunks.Reset();
        var whole = "2\r\nok\r\n0\r\n\r\n"u8.ToArray();
        Assert.Equal(ChunkedStatus.Done, chunks.DecodeInPlace(whole, 0, whole.Length, out var length));
        Assert.Equal("ok", Encoding.ASCII.GetString(whole, 0, length));
    }
}
