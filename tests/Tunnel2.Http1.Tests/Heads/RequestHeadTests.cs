using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests.Heads;

public sealed class RequestHeadTests
{
    [Fact]
    public void A_request_keeps_the_order_the_case_and_the_duplicates_of_its_fields()
    {
        const string Message = "GET /a?b=%20c HTTP/1.1\r\nhost: web.localhost:12000\r\nX-B: 2\r\nx-a:1\r\nX-b: \t three \t\r\nEmpty:\r\n"
            + "Blank:  \r\n\r\nnext";
        RequestHeadParser parser = Split.Request(Message, out ParsedHead head);

        Assert.Equal(ParseStatus.Done, head.Status);
        Assert.Equal(Message.Length - 4, head.Consumed);
        Assert.Equal(
            [("host", "web.localhost:12000"), ("X-B", "2"), ("x-a", "1"), ("X-b", "three"), ("Empty", ""), ("Blank", "")],
            head.Fields);
        Assert.Equal("GET", Text(parser.Method, Message));
        Assert.Equal(KnownMethod.Get, parser.KnownMethod);
        Assert.Equal("/a?b=%20c", Text(parser.Target, Message));
        Assert.Equal("/a?b=%20c", Text(parser.PathAndQuery, Message));
        Assert.Equal(TargetForm.Origin, parser.TargetForm);
        Assert.Equal(Http1Version.Http11, parser.Version);
        Assert.Equal("web.localhost:12000", Text(parser.Host, Message));
        Assert.Equal(BodyKind.None, parser.BodyKind);
        Assert.True(parser.KeepAlive);
        Assert.Equal(Http1Error.None, parser.Error);
    }

    [Theory]
    [InlineData("HTTP/1.2")]
    [InlineData("HTTP/1.9")]
    public void A_higher_minor_version_is_read_as_1_1(string version)
    {
        RequestHeadParser parser = Split.Request($"POST / {version}\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", out ParsedHead head);

        Assert.Equal(ParseStatus.Done, head.Status);
        Assert.Equal((Http1Version.Http11, BodyKind.Chunked, true), (parser.Version, parser.BodyKind, parser.KeepAlive));
        Split.Request($"GET / {version}\r\n\r\n", out ParsedHead without);
        Assert.Equal(ParseStatus.Invalid, without.Status);
    }

    [Fact]
    public void One_empty_line_before_the_request_line_is_skipped()
    {
        RequestHeadParser parser = Split.Request("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", out ParsedHead head);

        Assert.Equal(ParseStatus.Done, head.Status);
        Assert.Equal(new ByteRange(2, 3), parser.Method);
        Assert.Equal([("Host", "a")], head.Fields);
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\r\nHost: a", BodyKind.None, -1)]
    [InlineData("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0", BodyKind.None, 0)]
    [InlineData("POST / HTTP/1.1\r\nHost: a\r\ncontent-LENGTH:\t42 ", BodyKind.Length, 42)]
    [InlineData("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807", BodyKind.Length, long.MaxValue)]
    [InlineData("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked", BodyKind.Chunked, -1)]
    [InlineData("PUT / HTTP/1.1\r\nHost: a\r\nTRANSFER-ENCODING:CHUNKED\t", BodyKind.Chunked, -1)]
    [InlineData("POST / HTTP/1.0\r\nContent-Length: 3", BodyKind.Length, 3)]
    [InlineData("TRACE / HTTP/1.1\r\nHost: a\r\nContent-Length: 0", BodyKind.None, 0)]
    internal void The_body_of_a_request_is_framed_by_its_fields(string head, BodyKind kind, long length)
    {
        RequestHeadParser parser = Split.Request(head + "\r\n\r\n", out ParsedHead parsed);

        Assert.Equal(ParseStatus.Done, parsed.Status);
        Assert.Equal(kind, parser.BodyKind);
        Assert.Equal(length, parser.ContentLength ?? -1);
    }

    [Theory]
    [InlineData("OPTIONS * HTTP/1.1", TargetForm.Asterisk, "", "*")]
    [InlineData("GET //a//b?? HTTP/1.1", TargetForm.Origin, "", "//a//b??")]
    [InlineData("GET /~!$&'()*+,;=:@%2F[]|^`{}\"<> HTTP/1.1", TargetForm.Origin, "", "/~!$&'()*+,;=:@%2F[]|^`{}\"<>")]
    [InlineData(
        "GET /a?b\\c\\d-and-on-for-longer-than-a-vector-of-bytes\\ HTTP/1.1", TargetForm.Origin, "",
        "/a?b\\c\\d-and-on-for-longer-than-a-vector-of-bytes\\")]
    [InlineData("GET http://a HTTP/1.1", TargetForm.Absolute, "a", "")]
    [InlineData("GET HTTP://A/ HTTP/1.1", TargetForm.Absolute, "A", "/")]
    [InlineData("GET https://a?q HTTP/1.1", TargetForm.Absolute, "a", "?q")]
    [InlineData("GET http://a/b:80?http://c/ HTTP/1.1", TargetForm.Absolute, "a", "/b:80?http://c/")]
    internal void Each_form_of_target_is_distinguished_and_kept_as_it_is(string line, TargetForm form, string authority, string path)
    {
        string message = line + "\r\nHost: a\r\n\r\n";
        RequestHeadParser parser = Split.Request(message, out ParsedHead parsed);

        Assert.Equal(ParseStatus.Done, parsed.Status);
        Assert.Equal(form, parser.TargetForm);
        Assert.Equal(authority, Text(parser.TargetAuthority, message));
        Assert.Equal(path, Text(parser.PathAndQuery, message));
        Assert.Equal(line.Split(' ')[1], Text(parser.Target, message));
    }

    [Theory]
    [InlineData("example.com")]
    [InlineData("Web_1.EXAMPLE.com.:8080")]
    [InlineData("127.0.0.1:65535")]
    [InlineData("[::1]")]
    [InlineData("[2001:DB8::7f]:443")]
    [InlineData("[::ffff:127.0.0.1]:1")]
    [InlineData("example.com:")]
    [InlineData("[::1]:")]
    public void A_host_may_be_a_name_or_an_address_with_a_port(string host)
    {
        string message = "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
        RequestHeadParser parser = Split.Request(message, out ParsedHead parsed);

        Assert.Equal(ParseStatus.Done, parsed.Status);
        Assert.Equal(host, Text(parser.Host, message));
    }

    [Theory]
    [InlineData("GET", KnownMethod.Get)]
    [InlineData("HEAD", KnownMethod.Head)]
    [InlineData("POST", KnownMethod.Post)]
    [InlineData("PUT", KnownMethod.Put)]
    [InlineData("PATCH", KnownMethod.Patch)]
    [InlineData("DELETE", KnownMethod.Delete)]
    [InlineData("OPTIONS", KnownMethod.Options)]
    [InlineData("TRACE", KnownMethod.Trace)]
    [InlineData("get", KnownMethod.Other)]
    [InlineData("M-SEARCH", KnownMethod.Other)]
    [InlineData("!#$%&'*+-.^_`|~09AZaz", KnownMethod.Other)]
    internal void Any_token_is_a_method_and_case_matters(string method, KnownMethod known)
    {
        RequestHeadParser parser = Split.Request(method + " / HTTP/1.1\r\nHost: a\r\n\r\n", out ParsedHead parsed);

        Assert.Equal(ParseStatus.Done, parsed.Status);
        Assert.Equal(known, parser.KnownMethod);
        Assert.Equal(method.Length, parser.Method.Length);
    }

    [Theory]
    [InlineData("1.1", "100-continue", true, false)]
    [InlineData("1.1", "100-Continue", true, false)]
    [InlineData("1.0", "100-continue", false, false)]
    [InlineData("1.1", "200-ok", false, true)]
    [InlineData("1.1", "", false, true)]
    public void An_expectation_is_noticed(string version, string expect, bool isContinue, bool isUnknown)
    {
        RequestHeadParser parser =
            Split.Request($"PUT / HTTP/{version}\r\nHost: a\r\nExpect: {expect}\r\nContent-Length: 1\r\n\r\n", out ParsedHead parsed);

        Assert.Equal(ParseStatus.Done, parsed.Status);
        Assert.Equal(isContinue, parser.ExpectContinue);
        Assert.Equal(isUnknown, parser.HasUnknownExpectation);
    }

    [Theory]
    [InlineData("1.1", "Connection: Upgrade\r\nUpgrade: websocket", true, true)]
    [InlineData("1.1", "Upgrade: websocket\r\nConnection: keep-alive, Upgrade", true, true)]
    [InlineData("1.1", "Upgrade: websocket", true, false)]
    [InlineData("1.1", "Connection: upgrade", false, false)]
    [InlineData("1.0", "Connection: Upgrade\r\nUpgrade: websocket", true, false)]
    public void An_upgrade_needs_http11_and_both_fields(string version, string fields, bool has, bool isUpgrade)
    {
        string message = $"GET / HTTP/{version}\r\nHost: a\r\n{fields}\r\n\r\n";
        RequestHeadParser parser = Split.Request(message, out ParsedHead parsed);

        Assert.Equal(ParseStatus.Done, parsed.Status);
        Assert.Equal(has, parser.HasUpgrade);
        Assert.Equal(isUpgrade, parser.IsUpgrade);
        Assert.Equal(has ? "websocket" : "", Text(parser.Upgrade, message));
    }

    [Fact]
    public void A_head_that_is_done_stays_done_until_the_reset()
    {
        byte[] bytes = Latin1.Bytes("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        var parser = new RequestHeadParser();

        Assert.Equal(ParseStatus.Done, parser.Parse(bytes, out int consumed));
        Assert.Equal(bytes.Length, consumed);
        Assert.Equal(ParseStatus.Done, parser.Parse(bytes, out consumed));
        Assert.Equal(bytes.Length, consumed);

        parser.Reset();
        Assert.True(parser.Fields.IsEmpty);
        Assert.Equal(ParseStatus.NeedMore, parser.Parse(bytes.AsSpan(0, 20), out consumed));
        Assert.Equal(0, consumed);
    }

    [Fact]
    public void Pipelined_requests_are_read_one_after_the_other()
    {
        byte[] bytes = Latin1.Bytes("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.0\r\n\r\n");
        var parser = new RequestHeadParser();
        Assert.Equal(ParseStatus.Done, parser.Parse(bytes, out int first));
        parser.Reset();
        ReadOnlySpan<byte> rest = bytes.AsSpan(first);

        Assert.Equal(ParseStatus.Done, parser.Parse(rest, out int second));
        Assert.Equal(rest.Length, second);
        Assert.Equal("/2", Latin1.Text(parser.Target.Of(rest)));
        Assert.Equal(0, parser.HostCount);
        Assert.Equal(0, parser.Host.Length);
    }

    [Fact]
    public void A_shorter_buffer_than_before_is_a_mistake_of_the_caller()
    {
        byte[] bytes = Latin1.Bytes("GET / HTTP/1.1\r\nHost: a");
        var parser = new RequestHeadParser();
        parser.Parse(bytes, out _);

        Assert.Throws<ArgumentException>(() => parser.Parse(bytes.AsSpan(0, 5), out _));
    }

    private static string Text(ByteRange range, string message) => message.Substring(range.Offset, range.Length);
}
