using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests.Chunked;

public sealed class ChunkedDecoderTests
{
    [Theory]
    [InlineData("0\r\n\r\n", "", "")]
    [InlineData("5\r\nhello\r\n0\r\n\r\n", "hello", "")]
    [InlineData("5\r\nhello\r\n6\r\n world\r\n000\r\n\r\n", "hello world", "")]
    [InlineData("a\r\n0123456789\r\n0\r\n\r\n", "0123456789", "")]
    [InlineData("A\r\n\r\n0\r\n\r\n0\r\n\r\n0\r\n\r\n", "\r\n0\r\n\r\n0\r\n", "")]
    [InlineData("0000000000000001\r\nx\r\n0\r\n\r\n", "x", "")]
    [InlineData("1;a\r\nx\r\n0;b\r\n\r\n", "x", "")]
    [InlineData("1;a=b;c=d;e\r\nx\r\n0\r\n\r\n", "x", "")]
    [InlineData("1;a=\"\"\r\nx\r\n0\r\n\r\n", "x", "")]
    [InlineData("1;a=\"b;c \\\" \\\\ \t\u00E9\";d=\"e\"\r\nx\r\n0\r\n\r\n", "x", "")]
    [InlineData("1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n", "x", "X-Sum=1")]
    [InlineData("1\r\nx\r\n0;a=b\r\nx-a:\t1\r\nX-B:\r\nx-A: 2 \r\n\r\n", "x", "x-a=1|X-B=|x-A=2")]
    [InlineData("0\r\nConnection: a b\r\nTrailer: x\r\n\r\n", "", "Connection=a b|Trailer=x")]
    public void A_chunked_body_and_its_trailers_are_taken_apart(string body, string data, string trailers)
    {
        Chunks chunks = Chunks.DecodeEveryWay(body + "next");

        Assert.Equal(ChunkedStatus.Done, chunks.Status);
        Assert.Equal(data, chunks.Body);
        Assert.Equal(trailers, chunks.Trailers);
        Assert.Equal(body.Length, chunks.Consumed);
    }

    [Theory]
    [InlineData("\r\n", Http1Error.InvalidChunkSize)]
    [InlineData(" 1\r\nx\r\n", Http1Error.InvalidChunkSize)]
    [InlineData("+1\r\nx\r\n", Http1Error.InvalidChunkSize)]
    [InlineData("-1\r\nx\r\n", Http1Error.InvalidChunkSize)]
    [InlineData("0x1\r\nx\r\n", Http1Error.InvalidChunkSize)]
    [InlineData("1_0\r\nx\r\n", Http1Error.InvalidChunkSize)]
    [InlineData("g\r\nx\r\n", Http1Error.InvalidChunkSize)]
    [InlineData("1 \r\nx\r\n", Http1Error.InvalidChunkSize)]
    [InlineData("1\t\r\nx\r\n", Http1Error.InvalidChunkSize)]
    [InlineData("1 ;a\r\nx\r\n", Http1Error.InvalidChunkSize)]
    [InlineData("1,1\r\nx\r\n", Http1Error.InvalidChunkSize)]
    [InlineData("1\0\r\nx\r\n", Http1Error.InvalidChunkSize)]
    [InlineData("\u00B2\r\nx\r\n", Http1Error.InvalidChunkSize)]
    [InlineData(";a\r\nx\r\n", Http1Error.InvalidChunkSize)]
    [InlineData("8000000000000000\r\n", Http1Error.ChunkSizeOverflow)]
    [InlineData("FFFFFFFFFFFFFFFF\r\n", Http1Error.ChunkSizeOverflow)]
    [InlineData("10000000000000000\r\n", Http1Error.ChunkSizeOverflow)]
    [InlineData("10000000000000001\r\n", Http1Error.ChunkSizeOverflow)]
    [InlineData("00000000000000001\r\n", Http1Error.ChunkSizeOverflow)]
    [InlineData("1\nx\r\n", Http1Error.BareLineFeed)]
    [InlineData("1\r\rx\r\n", Http1Error.BareCarriageReturn)]
    [InlineData("1\rx\r\n", Http1Error.BareCarriageReturn)]
    [InlineData("1\r\nx\n", Http1Error.InvalidChunkEnd)]
    [InlineData("1\r\nx\rx", Http1Error.InvalidChunkEnd)]
    [InlineData("1\r\nxx\r\n", Http1Error.InvalidChunkEnd)]
    [InlineData("1\r\nx0\r\n\r\n", Http1Error.InvalidChunkEnd)]
    [InlineData("1;\r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1;;a\r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1; a\r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1;a \r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1;a=\r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1;a= b\r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1;a=b=c\r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1;=b\r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1;a(b)\r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1;a=\"b\r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1;a=\"b\\\r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1;a=\"b\"c\r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1;a=\"\0\"\r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1;a\u0001\r\nx\r\n", Http1Error.InvalidChunkExtension)]
    [InlineData("1;a\nx\r\n", Http1Error.BareLineFeed)]
    [InlineData("1;a=\"\n\"\r\nx\r\n", Http1Error.BareLineFeed)]
    [InlineData("1;a\rx\r\n", Http1Error.BareCarriageReturn)]
    [InlineData("0\n\r\n", Http1Error.BareLineFeed)]
    [InlineData("0\r\n\n", Http1Error.BareLineFeed)]
    [InlineData("0\r\n\rX", Http1Error.BareCarriageReturn)]
    [InlineData("0\r\n\0", Http1Error.InvalidFieldName)]
    [InlineData("0\r\nX: y\n\r\n", Http1Error.BareLineFeed)]
    [InlineData("0\r\nX : y\r\n\r\n", Http1Error.WhitespaceBeforeColon)]
    [InlineData("0\r\nX: y\r\n z\r\n\r\n", Http1Error.ObsoleteFolding)]
    [InlineData("0\r\nX\r\n\r\n", Http1Error.MissingColon)]
    [InlineData("0\r\nX: \0\r\n\r\n", Http1Error.ControlCharacter)]
    [InlineData("0\r\nContent-Length: 1\r\n\r\n", Http1Error.ForbiddenTrailer)]
    [InlineData("0\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n", Http1Error.ForbiddenTrailer)]
    [InlineData("0\r\nHost: a\r\n\r\n", Http1Error.ForbiddenTrailer)]
    [InlineData("0\r\ncontent_length: 1\r\n\r\n", Http1Error.ForbiddenTrailer)]
    [InlineData("GET / HTTP/1.1\r\n", Http1Error.InvalidChunkSize)]
    internal void Anything_else_is_refused(string body, Http1Error error)
    {
        Chunks chunks = Chunks.DecodeEveryWay(body);

        Assert.Equal(ChunkedStatus.Invalid, chunks.Status);
        Assert.Equal(error, chunks.Error);
    }

    [Theory]
    [InlineData("5  \r\nhello\r\n0 \r\n\r\n", ChunkedStatus.Done)]
    [InlineData("5 0\r\nhello\r\n0\r\n\r\n", ChunkedStatus.Invalid)]
    [InlineData("5 ;a\r\nhello\r\n0\r\n\r\n", ChunkedStatus.Invalid)]
    [InlineData(" 5\r\nhello\r\n0\r\n\r\n", ChunkedStatus.Invalid)]
    [InlineData("5\t\r\nhello\r\n0\r\n\r\n", ChunkedStatus.Invalid)]
    internal void Spaces_behind_a_size_are_tolerated_where_allowed(string body, ChunkedStatus status) =>
        Assert.Equal(status, Chunks.DecodeEveryWay(body, allowPaddedSizes: true).Status);

    [Fact]
    public void Bytes_of_a_chunk_are_given_before_the_chunk_is_complete()
    {
        var decoder = new ChunkedDecoder(Http1Limits.Default);

        Assert.Equal(ChunkedStatus.Data, decoder.Decode("7fffffffffffffff\r\nab"u8, out int consumed, out int offset, out int length));
        Assert.Equal((20, 18, 2), (consumed, offset, length));
        Assert.Equal(ChunkedStatus.NeedMore, decoder.Decode(""u8, out consumed, out _, out length));
        Assert.Equal((0, 0), (consumed, length));
        Assert.Equal(ChunkedStatus.Data, decoder.Decode("c"u8, out consumed, out offset, out length));
        Assert.Equal((1, 0, 1), (consumed, offset, length));
    }

    [Fact]
    public void An_unfinished_trailer_section_is_left_to_the_caller()
    {
        var decoder = new ChunkedDecoder(Http1Limits.Default);

        Assert.Equal(ChunkedStatus.NeedMore, decoder.Decode("0\r\nX: "u8, out int consumed, out _, out _));
        Assert.Equal(3, consumed);
        Assert.True(decoder.Trailers.IsEmpty);
        Assert.Equal(ChunkedStatus.Done, decoder.Decode("X: y\r\n\r\nGET"u8, out consumed, out _, out _));
        Assert.Equal(8, consumed);
        Assert.Equal("y", Latin1.Text(decoder.Trailers[0].Value("X: y\r\n\r\nGET"u8)));
        Assert.Equal(ChunkedStatus.Done, decoder.Decode("GET"u8, out consumed, out _, out _));
        Assert.Equal(0, consumed);
    }

    [Theory]
    [InlineData(100, ChunkedStatus.NeedMore)]
    [InlineData(101, ChunkedStatus.Invalid)]
    internal void A_chunk_header_may_be_as_long_as_the_limit(int length, ChunkedStatus status)
    {
        var limits = new Http1Limits { MaxChunkHeaderBytes = 100 };
        Chunks chunks = Chunks.DecodeEveryWay("1;" + new string('a', length - 2) + "\r\nx\r\n1;b\r\nx\r\n", limits: limits);

        Assert.Equal(status, chunks.Status);
        Assert.Equal(status == ChunkedStatus.Invalid ? Http1Error.ChunkHeaderTooLong : Http1Error.None, chunks.Error);
    }

    [Fact]
    public void Trailers_are_held_to_the_limits_of_a_head()
    {
        var limits = new Http1Limits { MaxHeadBytes = 64, MaxFields = 2 };

        Assert.Equal(Http1Error.TooManyFields, Chunks.DecodeEveryWay("0\r\nA:\r\nA:\r\nA:\r\n\r\n", limits: limits).Error);
        Assert.Equal(Http1Error.HeadTooLarge, Chunks.DecodeEveryWay("0\r\nA:" + new string('a', 70) + "\r\n\r\n", limits: limits).Error);
        Assert.Equal(ChunkedStatus.Done, Chunks.DecodeEveryWay("0\r\nA:" + new string('a', 58) + "\r\n\r\n", limits: limits).Status);
    }

    [Fact]
    public void A_refused_body_stays_refused_until_the_reset()
    {
        var decoder = new ChunkedDecoder(Http1Limits.Default);

        Assert.Equal(ChunkedStatus.Invalid, decoder.Decode("x"u8, out _, out _, out _));
        Assert.Equal(ChunkedStatus.Invalid, decoder.Decode("0\r\n\r\n"u8, out int consumed, out _, out _));
        Assert.Equal(0, consumed);
        decoder.Reset();
        Assert.Equal(ChunkedStatus.Done, decoder.Decode("0\r\n\r\n"u8, out _, out _, out _));
    }
}
