using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests.Writing;

public sealed class HeadWriterTests
{
    [Fact]
    public void A_request_is_written_byte_for_byte()
    {
        byte[] buffer = new byte[200];
        var writer = new HeadWriter(buffer);
        writer.WriteRequestLine("PUT"u8, "/a?b"u8);
        writer.WriteField("Host"u8, "a"u8);
        writer.WriteCheckedLines("X: 1\r\nY: 2\r\n"u8);
        writer.WriteField("Content-Length"u8, long.MaxValue);
        writer.WriteField("Empty"u8, ""u8);

        Assert.Equal(HeadWriteStatus.Ok, writer.WriteEnd());
        Assert.Equal(
            "PUT /a?b HTTP/1.1\r\nHost: a\r\nX: 1\r\nY: 2\r\nContent-Length: 9223372036854775807\r\nEmpty: \r\n\r\n",
            Latin1.Text(buffer.AsSpan(0, writer.Written)));
    }

    [Theory]
    [InlineData(100, "Continue")]
    [InlineData(200, "OK")]
    [InlineData(404, "")]
    [InlineData(999, "\u00FC\t")]
    public void A_status_line_is_written_byte_for_byte(int status, string reason)
    {
        byte[] buffer = new byte[15 + reason.Length + 2];
        var writer = new HeadWriter(buffer);
        writer.WriteStatusLine(status, Latin1.Bytes(reason));

        Assert.Equal(HeadWriteStatus.Ok, writer.WriteEnd());
        Assert.Equal($"HTTP/1.1 {status} {reason}\r\n\r\n", Latin1.Text(buffer));
    }

    [Theory]
    [InlineData("GET\r\n", "/", "X", "y")]
    [InlineData("G T", "/", "X", "y")]
    [InlineData("", "/", "X", "y")]
    [InlineData("GET", "", "X", "y")]
    [InlineData("GET", "/ HTTP/1.1\r\nEvil: 1\r\n\r\nGET /", "X", "y")]
    [InlineData("GET", "/", "X\r\nEvil", "y")]
    [InlineData("GET", "/", "X: 1", "y")]
    [InlineData("GET", "/", "", "y")]
    [InlineData("GET", "/", "X", "y\r\nEvil: 1")]
    [InlineData("GET", "/", "X", "y\n")]
    [InlineData("GET", "/", "X", "y\0")]
    public void Injection_is_refused_and_nothing_more_is_written(string method, string target, string name, string value)
    {
        byte[] buffer = new byte[200];
        var writer = new HeadWriter(buffer);
        writer.WriteRequestLine(Latin1.Bytes(method), Latin1.Bytes(target));
        writer.WriteField(Latin1.Bytes(name), Latin1.Bytes(value));
        int written = writer.Written;
        writer.WriteField("Later"u8, "z"u8);

        Assert.Equal(HeadWriteStatus.InvalidSyntax, writer.WriteEnd());
        Assert.Equal(written, writer.Written);
        Assert.DoesNotContain("Evil", Latin1.Text(buffer));
    }

    [Theory]
    [InlineData(99, "")]
    [InlineData(1000, "")]
    [InlineData(-1, "")]
    [InlineData(200, "OK\r\nEvil: 1")]
    public void A_status_line_that_would_not_parse_is_refused(int status, string reason)
    {
        var writer = new HeadWriter(new byte[100]);
        writer.WriteStatusLine(status, Latin1.Bytes(reason));

        Assert.Equal(HeadWriteStatus.InvalidSyntax, writer.Status);
        Assert.Equal(0, writer.Written);
    }

    [Fact]
    public void A_negative_number_is_refused()
    {
        var writer = new HeadWriter(new byte[100]);
        writer.WriteField("Content-Length"u8, -1);
        Assert.Equal(HeadWriteStatus.InvalidSyntax, writer.Status);
    }

    [Fact]
    public void Every_buffer_that_is_too_small_is_reported_and_never_overrun()
    {
        byte[] whole = new byte[100];
        int length = Write(whole, out HeadWriteStatus status);
        Assert.Equal(HeadWriteStatus.Ok, status);

        for (int size = 0; size < length; size++)
        {
            byte[] small = new byte[size];
            Write(small, out status);
            Assert.Equal(HeadWriteStatus.DestinationTooSmall, status);
            Assert.StartsWith(Latin1.Text(small).TrimEnd('\0'), Latin1.Text(whole), StringComparison.Ordinal);
        }

        byte[] exact = new byte[length];
        Write(exact, out status);
        Assert.Equal(HeadWriteStatus.Ok, status);
    }

    [Fact]
    public void Invalid_syntax_is_reported_even_when_there_is_no_room()
    {
        var writer = new HeadWriter(new byte[3]);
        writer.WriteField("X"u8, "y"u8);
        writer.WriteField("X"u8, "\r"u8);
        Assert.Equal(HeadWriteStatus.InvalidSyntax, writer.WriteEnd());
    }

    [Fact]
    public void Trailers_are_written_like_fields()
    {
        byte[] buffer = new byte[50];
        var writer = new HeadWriter(buffer);
        writer.WriteCheckedLines(ChunkedEncoder.LastChunkBeforeTrailers);
        writer.WriteField("X-Sum"u8, "1"u8);
        Assert.Equal(HeadWriteStatus.Ok, writer.WriteEnd());
        Assert.Equal("0\r\nX-Sum: 1\r\n\r\n", Latin1.Text(buffer.AsSpan(0, writer.Written)));
    }

    [Fact]
    public void Each_reason_phrase_can_be_written()
    {
        byte[] buffer = new byte[100];
        for (int status = 100; status < 600; status++)
        {
            var writer = new HeadWriter(buffer);
            writer.WriteStatusLine(status, ReasonPhrases.Of(status));
            Assert.Equal(HeadWriteStatus.Ok, writer.Status);
        }

        Assert.Equal("Bad Gateway", Latin1.Text(ReasonPhrases.Of(502)));
        Assert.True(ReasonPhrases.Of(299).IsEmpty);
    }

    private static int Write(byte[] buffer, out HeadWriteStatus status)
    {
        var writer = new HeadWriter(buffer);
        writer.WriteStatusLine(200, "OK"u8);
        writer.WriteField("Host"u8, "a"u8);
        writer.WriteField("Age"u8, 12);
        writer.WriteCheckedLines("X: y\r\n"u8);
        status = writer.WriteEnd();
        return writer.Written;
    }
}
