using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests.Heads;

public sealed class ResponseHeadTests
{
    [Fact]
    public void A_response_keeps_the_order_the_case_and_the_duplicates_of_its_fields()
    {
        const string Message = "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX: y\r\nset-cookie: b=\u00E9\r\nContent-Length: 5\r\n\r\nhello";
        ResponseHeadParser parser = Split.Response(Message, out ParsedHead head);

        Assert.Equal(ParseStatus.Done, head.Status);
        Assert.Equal(Message.Length - 5, head.Consumed);
        Assert.Equal(200, parser.StatusCode);
        Assert.Equal("OK", Message.Substring(parser.Reason.Offset, parser.Reason.Length));
        Assert.Equal([("Set-Cookie", "a=1"), ("X", "y"), ("set-cookie", "b=\u00E9"), ("Content-Length", "5")], head.Fields);
        Assert.Equal(BodyKind.Length, parser.BodyKind);
        Assert.Equal(5, parser.ContentLength);
        Assert.True(parser.KeepAlive);
    }

    [Theory]
    [InlineData("HTTP/1.1 200 OK", 200, "OK")]
    [InlineData("HTTP/1.1 200 ", 200, "")]
    [InlineData("HTTP/1.1 200", 200, "")]
    [InlineData("HTTP/1.0 404 Not  found \t", 404, "Not  found \t")]
    [InlineData("HTTP/1.1 500 \u00DCbel", 500, "\u00DCbel")]
    [InlineData("HTTP/1.1 999 Request denied", 999, "Request denied")]
    [InlineData("HTTP/1.1 100 Continue", 100, "Continue")]
    public void Sloppy_reasons_are_accepted_as_they_are(string line, int status, string reason)
    {
        string message = line + "\r\n\r\n";
        ResponseHeadParser parser = Split.Response(message, out ParsedHead head);

        Assert.Equal(ParseStatus.Done, head.Status);
        Assert.Equal(status, parser.StatusCode);
        Assert.Equal(reason, message.Substring(parser.Reason.Offset, parser.Reason.Length));
    }

    [Theory]
    [InlineData(KnownMethod.Get, "1.1 200 OK\r\nContent-Length: 5", BodyKind.Length, true)]
    [InlineData(KnownMethod.Get, "1.1 200 OK\r\nContent-Length: 0", BodyKind.None, true)]
    [InlineData(KnownMethod.Get, "1.1 200 OK\r\nTransfer-Encoding: Chunked", BodyKind.Chunked, true)]
    [InlineData(KnownMethod.Get, "1.1 200 OK", BodyKind.UntilClose, false)]
    [InlineData(KnownMethod.Get, "1.1 200 OK\r\nConnection: keep-alive", BodyKind.UntilClose, false)]
    [InlineData(KnownMethod.Get, "1.0 200 OK", BodyKind.UntilClose, false)]
    [InlineData(KnownMethod.Get, "1.0 200 OK\r\nContent-Length: 5", BodyKind.Length, false)]
    [InlineData(KnownMethod.Get, "1.0 200 OK\r\nContent-Length: 5\r\nConnection: Keep-Alive", BodyKind.Length, true)]
    [InlineData(KnownMethod.Get, "1.1 200 OK\r\nContent-Length: 5\r\nConnection: close", BodyKind.Length, false)]
    [InlineData(KnownMethod.Get, "1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive, close", BodyKind.Length, false)]
    [InlineData(KnownMethod.Head, "1.1 200 OK\r\nContent-Length: 5", BodyKind.None, true)]
    [InlineData(KnownMethod.Head, "1.1 200 OK\r\nTransfer-Encoding: chunked", BodyKind.None, true)]
    [InlineData(KnownMethod.Head, "1.1 200 OK", BodyKind.None, true)]
    [InlineData(KnownMethod.Get, "1.1 304 Not Modified\r\nContent-Length: 5", BodyKind.None, true)]
    [InlineData(KnownMethod.Get, "1.1 304 Not Modified\r\nTransfer-Encoding: chunked", BodyKind.None, true)]
    [InlineData(KnownMethod.Get, "1.1 204 No Content", BodyKind.None, true)]
    [InlineData(KnownMethod.Get, "1.1 204 No Content\r\nContent-Length: 0", BodyKind.None, true)]
    [InlineData(KnownMethod.Get, "1.1 204 No Content\r\nContent-Length: 5", BodyKind.None, false)]
    [InlineData(KnownMethod.Get, "1.1 204 No Content\r\nTransfer-Encoding: chunked", BodyKind.None, false)]
    [InlineData(KnownMethod.Get, "1.0 204 No Content\r\nConnection: keep-alive", BodyKind.None, true)]
    [InlineData(KnownMethod.Get, "1.1 100 Continue", BodyKind.None, true)]
    [InlineData(KnownMethod.Get, "1.1 103 Early Hints\r\nLink: </a>", BodyKind.None, true)]
    [InlineData(KnownMethod.Get, "1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x", BodyKind.None, false)]
    [InlineData(KnownMethod.Get, "1.1 101 Switching Protocols\r\nContent-Length: 0", BodyKind.None, false)]
    [InlineData(KnownMethod.Connect, "1.1 200 OK\r\nContent-Length: 5", BodyKind.None, false)]
    [InlineData(KnownMethod.Connect, "1.1 200 OK\r\nTransfer-Encoding: chunked", BodyKind.None, false)]
    [InlineData(KnownMethod.Connect, "1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked", BodyKind.None, false)]
    [InlineData(KnownMethod.Connect, "1.1 200 OK\r\nContent-Length: five\r\nContent-Length: 6", BodyKind.None, false)]
    [InlineData(KnownMethod.Connect, "1.1 407 No\r\nContent-Length: 5", BodyKind.Length, true)]
    internal void Status_method_and_fields_decide_about_the_body(KnownMethod method, string head, BodyKind kind, bool keepAlive)
    {
        ResponseHeadParser parser = Split.Response("HTTP/" + head + "\r\n\r\n", out ParsedHead parsed, method);

        Assert.Equal(ParseStatus.Done, parsed.Status);
        Assert.Equal(kind, parser.BodyKind);
        Assert.Equal(keepAlive, parser.KeepAlive);
    }

    [Theory]
    [InlineData(100, true)]
    [InlineData(103, true)]
    [InlineData(101, false)]
    [InlineData(200, false)]
    public void Interim_responses_are_distinguished(int status, bool isInterim)
    {
        ResponseHeadParser parser = Split.Response($"HTTP/1.1 {status} x\r\n\r\n", out _);
        Assert.Equal(isInterim, parser.IsInterim);
    }

    [Fact]
    public void A_101_that_confirms_an_upgrade_is_recognised()
    {
        ResponseHeadParser parser =
            Split.Response(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x00", out ParsedHead head);

        Assert.Equal(ParseStatus.Done, head.Status);
        Assert.True(parser.IsUpgrade);
        Assert.False(parser.IsInterim);
    }

    [Theory]
    [InlineData("Content-Length: 5\r\nX: y\r\nContent-Length: 5", "Content-Length=5,X=y")]
    [InlineData("Content-Length: 5, 5,5\r\nX: y", "Content-Length=5,X=y")]
    [InlineData("Content-Length: 5, 05, 005\r\nX: y", "Content-Length=5,X=y")]
    [InlineData("Content-Length: 5, 5\r\ncontent-length: 5", "Content-Length=5")]
    [InlineData("Content-Length: 5\r\nContent-Length: 5 ,5", "Content-Length=5")]
    [InlineData("Content-Length: 05\r\nContent-Length: 5", "Content-Length=05")]
    public void Repeated_lengths_that_are_equal_are_merged_into_one(string fields, string expected)
    {
        ResponseHeadParser parser = Split.Response("HTTP/1.1 200 OK\r\n" + fields + "\r\n\r\n", out ParsedHead head);

        Assert.Equal(ParseStatus.Done, head.Status);
        Assert.Equal(5, parser.ContentLength);
        Assert.Equal(expected, string.Join(',', head.Fields.Select(f => f.Name + "=" + f.Value)));
    }

    [Fact]
    public void A_malformed_connection_field_is_read_as_far_as_it_makes_sense()
    {
        ResponseHeadParser parser = Split.Response(
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: a b, close\r\n\r\n", out ParsedHead head);

        Assert.Equal(ParseStatus.Done, head.Status);
        Assert.False(parser.KeepAlive);
    }

    [Theory]
    [InlineData("HTTP/1.2")]
    [InlineData("HTTP/1.9")]
    public void A_higher_minor_version_is_read_as_1_1(string version)
    {
        ResponseHeadParser parser = Split.Response(version + " 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", out ParsedHead head);

        Assert.Equal(ParseStatus.Done, head.Status);
        Assert.Equal((Http1Version.Http11, BodyKind.Chunked, true), (parser.Version, parser.BodyKind, parser.KeepAlive));
    }

    [Theory]
    [InlineData("\r\nHTTP/1.1 200 OK\r\n\r\n", Http1Error.InvalidStatusLine)]
    [InlineData(" HTTP/1.1 200 OK\r\n\r\n", Http1Error.InvalidStatusLine)]
    [InlineData("http/1.1 200 OK\r\n\r\n", Http1Error.InvalidStatusLine)]
    [InlineData("ICY 200 OK\r\n\r\n", Http1Error.InvalidStatusLine)]
    [InlineData("<html>", Http1Error.InvalidStatusLine)]
    [InlineData("HTTP/1.1  200 OK\r\n\r\n", Http1Error.InvalidStatusCode)]
    [InlineData("HTTP/1.1\t200 OK\r\n\r\n", Http1Error.InvalidStatusLine)]
    [InlineData("HTTP/1.1\r\n\r\n", Http1Error.InvalidStatusLine)]
    [InlineData("HTTP/1.1 \r\n\r\n", Http1Error.InvalidStatusCode)]
    [InlineData("HTTP/1.1 20\r\n\r\n", Http1Error.InvalidStatusCode)]
    [InlineData("HTTP/1.1 2000 OK\r\n\r\n", Http1Error.InvalidStatusCode)]
    [InlineData("HTTP/1.1 099 OK\r\n\r\n", Http1Error.InvalidStatusCode)]
    [InlineData("HTTP/1.1 -20 OK\r\n\r\n", Http1Error.InvalidStatusCode)]
    [InlineData("HTTP/1.1 2x0 OK\r\n\r\n", Http1Error.InvalidStatusCode)]
    [InlineData("HTTP/1.1 200OK\r\n\r\n", Http1Error.InvalidStatusLine)]
    [InlineData("HTTP/1.1 200\tOK\r\n\r\n", Http1Error.InvalidStatusLine)]
    [InlineData("HTTP/1.1 200\n\n", Http1Error.InvalidStatusLine)]
    [InlineData("HTTP/2.0 200 OK\r\n\r\n", Http1Error.UnsupportedVersion)]
    [InlineData("HTTP/3.1 200 OK\r\n\r\n", Http1Error.UnsupportedVersion)]
    [InlineData("HTTP/2 200 OK\r\n\r\n", Http1Error.InvalidStatusLine)]
    [InlineData("HTTP/1.1 200 OK\n\n", Http1Error.BareLineFeed)]
    [InlineData("HTTP/1.1 200 O\rK\r\n\r\n", Http1Error.BareCarriageReturn)]
    [InlineData("HTTP/1.1 200\rX\r\n\r\n", Http1Error.BareCarriageReturn)]
    [InlineData("HTTP/1.1 200 O\0K\r\n\r\n", Http1Error.ControlCharacter)]
    [InlineData("HTTP/1.1 200 OK\r\nX: a\n\r\n", Http1Error.BareLineFeed)]
    [InlineData("HTTP/1.1 200 OK\r\nX: a\rY: b\r\n\r\n", Http1Error.BareCarriageReturn)]
    [InlineData("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", Http1Error.ObsoleteFolding)]
    [InlineData("HTTP/1.1 200 OK\r\nX : a\r\n\r\n", Http1Error.WhitespaceBeforeColon)]
    [InlineData("HTTP/1.1 200 OK\r\nX\r\n\r\n", Http1Error.MissingColon)]
    [InlineData("HTTP/1.1 200 OK\r\nX Y: a\r\n\r\n", Http1Error.WhitespaceBeforeColon)]
    [InlineData("HTTP/1.1 200 OK\r\nX: a\0\r\n\r\n", Http1Error.ControlCharacter)]
    [InlineData("HTTP/1.1 200 OK\r\nX: a\u0002\r\n\r\n", Http1Error.ControlCharacter)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", Http1Error.ContentLengthWithTransferEncoding)]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", Http1Error.ContentLengthWithTransferEncoding)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", Http1Error.ConflictingContentLength)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", Http1Error.ConflictingContentLength)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1,\r\n\r\n", Http1Error.InvalidContentLength)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: \r\n\r\n", Http1Error.InvalidContentLength)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", Http1Error.InvalidContentLength)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", Http1Error.InvalidContentLength)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", Http1Error.InvalidContentLength)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\n", Http1Error.InvalidContentLength)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n", Http1Error.InvalidContentLength)]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", Http1Error.UnsupportedTransferCoding)]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n", Http1Error.UnsupportedTransferCoding)]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", Http1Error.InvalidTransferEncoding)]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", Http1Error.InvalidTransferEncoding)]
    [InlineData("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Http1Error.TransferEncodingInHttp10)]
    [InlineData("HTTP/1.1 100 Continue\r\nContent-Length: 1\r\n\r\n", Http1Error.BodyOfInformationalResponse)]
    [InlineData("HTTP/1.1 101 Switching Protocols\r\nTransfer-Encoding: chunked\r\n\r\n", Http1Error.BodyOfInformationalResponse)]
    internal void A_response_that_could_desynchronise_the_connection_is_refused(string message, Http1Error error)
    {
        Split.Response(message, out ParsedHead head);
        Assert.Equal(ParseStatus.Invalid, head.Status);
        Assert.Equal(error, head.Error);
    }

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nContent_Length: 1\r\nContent-Length: 2\r\n\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nHost: a\r\nHost: ???\r\nExpect: x\r\nContent-Length: 2\r\n\r\n")]
    public void Fields_that_mean_nothing_in_a_response_are_passed_on(string message)
    {
        ResponseHeadParser parser = Split.Response(message, out ParsedHead head);
        Assert.Equal(ParseStatus.Done, head.Status);
        Assert.Equal(2, parser.ContentLength);
    }
}
