using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests.Heads;

public sealed class LimitTests
{
    private static readonly Http1Limits _small = new() { MaxHeadBytes = 100, MaxFields = 3, MaxRequestLineBytes = 40 };

    [Theory]
    [InlineData(100, ParseStatus.Done)]
    [InlineData(101, ParseStatus.Invalid)]
    [InlineData(400, ParseStatus.Invalid)]
    internal void A_head_may_be_as_long_as_the_limit_and_no_longer(int length, ParseStatus status)
    {
        const string Start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
        string message = Start + new string('x', length - Start.Length - 4) + "\r\n\r\n";

        Split.Request(message, out ParsedHead head, _small);
        Assert.Equal(status, head.Status);
        Assert.Equal(status == ParseStatus.Done ? Http1Error.None : Http1Error.HeadTooLarge, head.Error);
    }

    [Fact]
    public void A_head_longer_than_the_limit_is_refused_as_soon_as_the_limit_is_reached()
    {
        var parser = new RequestHeadParser(_small);
        byte[] bytes = Latin1.Bytes("GET / HTTP/1.1\r\nHost: " + new string('a', 200));

        Assert.Equal(ParseStatus.NeedMore, parser.Parse(bytes.AsSpan(0, 99), out _));
        Assert.Equal(ParseStatus.Invalid, parser.Parse(bytes.AsSpan(0, 100), out _));
        Assert.Equal(Http1Error.HeadTooLarge, parser.Error);
    }

    [Fact]
    public void A_body_behind_the_head_does_not_count()
    {
        Split.Request("GET / HTTP/1.1\r\nHost: a\r\n\r\n" + new string('x', 300), out ParsedHead head, _small);
        Assert.Equal(ParseStatus.Done, head.Status);
    }

    [Theory]
    [InlineData(3, Http1Error.None)]
    [InlineData(4, Http1Error.TooManyFields)]
    internal void A_head_may_have_as_many_fields_as_the_limit(int fields, Http1Error error)
    {
        string message = "GET / HTTP/1.0\r\n" + string.Concat(Enumerable.Repeat("X: y\r\n", fields)) + "\r\n";
        Split.Request(message, out ParsedHead head, _small);
        Assert.Equal(error, head.Error);
    }

    [Theory]
    [InlineData(40, Http1Error.None)]
    [InlineData(41, Http1Error.RequestLineTooLong)]
    [InlineData(90, Http1Error.RequestLineTooLong)]
    internal void A_request_line_may_be_as_long_as_the_limit(int length, Http1Error error)
    {
        string message = "GET /" + new string('a', length - 14) + " HTTP/1.0\r\n\r\n";
        Split.Request(message, out ParsedHead head, _small);
        Assert.Equal(error, head.Error);
    }

    [Theory]
    [InlineData(100, Http1Error.None)]
    [InlineData(101, Http1Error.HeadTooLarge)]
    internal void A_response_is_held_to_the_same_limits(int length, Http1Error error)
    {
        const string Start = "HTTP/1.1 200 ";
        Split.Response(Start + new string('x', length - Start.Length - 4) + "\r\n\r\n", out ParsedHead head, limits: _small);
        Assert.Equal(error, head.Error);
    }

    [Fact]
    public void Two_hundred_fields_and_64_KiB_fit_by_default()
    {
        const string Start = "GET / HTTP/1.0\r\n";
        string fields = string.Concat(Enumerable.Range(0, 199).Select(i => $"X-{i}: {i}\r\n"));
        string message = Start + fields + "Y: " + new string('y', 65536 - Start.Length - fields.Length - 7) + "\r\n\r\n";
        var parser = new RequestHeadParser();

        Assert.Equal(ParseStatus.Done, parser.Parse(Latin1.Bytes(message), out int consumed));
        Assert.Equal(65536, consumed);
        Assert.Equal(200, parser.Fields.Length);
        Assert.Equal("198", Latin1.Text(parser.Fields[198].Value(Latin1.Bytes(message))));
    }

    [Fact]
    public void Limits_that_make_no_sense_are_refused()
    {
        Assert.Throws<ArgumentOutOfRangeException>(() => new Http1Limits { MaxHeadBytes = 63 });
        Assert.Throws<ArgumentOutOfRangeException>(() => new Http1Limits { MaxHeadBytes = Http1Limits.LargestHeadBytes + 1 });
        Assert.Throws<ArgumentOutOfRangeException>(() => new Http1Limits { MaxFields = 0 });
        Assert.Throws<ArgumentOutOfRangeException>(() => new Http1Limits { MaxRequestLineBytes = 15 });
        Assert.Throws<ArgumentOutOfRangeException>(() => new Http1Limits { MaxMethodBytes = 0 });
        Assert.Throws<ArgumentOutOfRangeException>(() => new Http1Limits { MaxChunkHeaderBytes = 15 });
    }
}
