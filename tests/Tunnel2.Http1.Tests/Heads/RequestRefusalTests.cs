using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests.Heads;

public sealed class RequestRefusalTests
{
    [Theory]
    [InlineData("\r\n\r\nGET / HTTP/1.1\r\n", Http1Error.InvalidMethod)]
    [InlineData("\rGET / HTTP/1.1\r\n", Http1Error.BareCarriageReturn)]
    [InlineData("\nGET / HTTP/1.1\r\n", Http1Error.InvalidMethod)]
    [InlineData(" GET / HTTP/1.1\r\n", Http1Error.InvalidMethod)]
    [InlineData("\tGET / HTTP/1.1\r\n", Http1Error.InvalidMethod)]
    [InlineData("GET\t/ HTTP/1.1\r\n", Http1Error.InvalidMethod)]
    [InlineData("GET\r\n", Http1Error.InvalidMethod)]
    [InlineData("G(T / HTTP/1.1\r\n", Http1Error.InvalidMethod)]
    [InlineData("G\u00C9T / HTTP/1.1\r\n", Http1Error.InvalidMethod)]
    [InlineData("\x16\x03\x01\x02\0\x01\0\x01\xFC\x03\x03", Http1Error.InvalidMethod)]
    [InlineData("GET  / HTTP/1.1\r\n", Http1Error.InvalidRequestLine)]
    [InlineData("GET /  HTTP/1.1\r\n", Http1Error.InvalidRequestLine)]
    [InlineData("GET / HTTP/1.1 \r\n", Http1Error.InvalidRequestLine)]
    [InlineData("GET / HTTP/1.1\t\r\n", Http1Error.InvalidRequestLine)]
    [InlineData("GET / HTTP/1.1 HTTP/1.1\r\n", Http1Error.InvalidRequestLine)]
    [InlineData("GET /a b HTTP/1.1\r\n", Http1Error.InvalidVersion)]
    [InlineData("GET /\tHTTP/1.1\r\n", Http1Error.InvalidTarget)]
    [InlineData("GET HTTP/1.1\r\n", Http1Error.InvalidVersion)]
    [InlineData("GET /\r\n", Http1Error.InvalidVersion)]
    [InlineData("GET / \r\n", Http1Error.InvalidVersion)]
    [InlineData("GET \r\n", Http1Error.InvalidTarget)]
    [InlineData("GET /\n", Http1Error.BareLineFeed)]
    [InlineData("GET / HTTP/1.1\n", Http1Error.BareLineFeed)]
    [InlineData("GET / HTTP/1.1\rX", Http1Error.BareCarriageReturn)]
    [InlineData("GET / HTTP/1.1\r\r\n", Http1Error.BareCarriageReturn)]
    [InlineData("GET / HTTP\r\n", Http1Error.InvalidVersion)]
    [InlineData("GET / HTTP/1\r\n", Http1Error.InvalidVersion)]
    [InlineData("GET / HTTP/1.\r\n", Http1Error.InvalidVersion)]
    [InlineData("GET / HTTP/11\r\n", Http1Error.InvalidVersion)]
    [InlineData("GET / HTTP/1.01\r\n", Http1Error.InvalidVersion)]
    [InlineData("GET / HTTP/01.1\r\n", Http1Error.InvalidVersion)]
    [InlineData("GET / HTTP/1.10\r\n", Http1Error.InvalidVersion)]
    [InlineData("GET / http/1.1\r\n", Http1Error.InvalidVersion)]
    [InlineData("GET / HTTPS/1.1\r\n", Http1Error.InvalidVersion)]
    [InlineData("GET / ICE/1.0\r\n", Http1Error.InvalidVersion)]
    [InlineData("GET / HTTP/0.9\r\n", Http1Error.UnsupportedVersion)]
    [InlineData("GET / HTTP/2.0\r\n", Http1Error.UnsupportedVersion)]
    [InlineData("GET / HTTP/9.9\r\n", Http1Error.UnsupportedVersion)]
    [InlineData("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Http1Error.UnsupportedVersion)]
    internal void A_request_line_in_any_other_form_is_refused(string line, Http1Error error) => Refused(line, error);

    [Theory]
    [InlineData("/a#b", Http1Error.FragmentInTarget)]
    [InlineData("#", Http1Error.FragmentInTarget)]
    [InlineData("/a\u007F", Http1Error.InvalidTarget)]
    [InlineData("/a\0", Http1Error.InvalidTarget)]
    [InlineData("/\u00E9", Http1Error.InvalidTarget)]
    [InlineData("/\u0080-and-on-for-longer-than-a-vector-of-bytes", Http1Error.InvalidTarget)]
    [InlineData("/a\\b?c", Http1Error.InvalidTarget)]
    [InlineData("*", Http1Error.InvalidTarget)]
    [InlineData("*/a", Http1Error.InvalidTarget)]
    [InlineData("a", Http1Error.InvalidTarget)]
    [InlineData("?a", Http1Error.InvalidTarget)]
    [InlineData("a:80", Http1Error.InvalidTarget)]
    [InlineData("ftp://a/", Http1Error.InvalidTarget)]
    [InlineData("http:/a/", Http1Error.InvalidTarget)]
    [InlineData("http:///a", Http1Error.InvalidTarget)]
    [InlineData("http://?a", Http1Error.InvalidTarget)]
    [InlineData("http://u@a/", Http1Error.InvalidTarget)]
    [InlineData("http://u:p@a/", Http1Error.InvalidTarget)]
    [InlineData("http://:/", Http1Error.InvalidTarget)]
    [InlineData("http://a:/", Http1Error.HostDiffersFromTarget)]
    [InlineData("http://b/", Http1Error.HostDiffersFromTarget)]
    [InlineData("http://a:80/", Http1Error.HostDiffersFromTarget)]
    [InlineData("http://a.b/", Http1Error.HostDiffersFromTarget)]
    internal void A_target_that_is_not_what_a_client_may_send_is_refused(string target, Http1Error error) =>
        Refused($"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n", error);

    [Theory]
    [InlineData("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", Http1Error.ConnectNotSupported)]
    [InlineData("CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", Http1Error.ConnectNotSupported)]
    [InlineData("OPTIONS */ HTTP/1.1\r\nHost: a\r\n\r\n", Http1Error.InvalidTarget)]
    [InlineData("TRACE / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", Http1Error.TraceWithBody)]
    [InlineData("TRACE / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", Http1Error.TraceWithBody)]
    [InlineData("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", Http1Error.MethodTooLong)]
    internal void A_method_that_does_not_fit_is_refused(string message, Http1Error error) => Refused(message, error);

    [Theory]
    [InlineData("GET / HTTP/1.1\r\n\r\n", Http1Error.MissingHost)]
    [InlineData("GET http://a/ HTTP/1.1\r\n\r\n", Http1Error.MissingHost)]
    [InlineData("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", Http1Error.DuplicateHost)]
    [InlineData("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nhOST: b\r\n\r\n", Http1Error.DuplicateHost)]
    [InlineData("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", Http1Error.DuplicateHost)]
    internal void A_host_that_is_missing_or_repeated_is_refused(string message, Http1Error error) => Refused(message, error);

    [Theory]
    [InlineData("")]
    [InlineData("a b")]
    [InlineData("a, b")]
    [InlineData("a,b")]
    [InlineData("a/b")]
    [InlineData("a?b")]
    [InlineData("a\\b")]
    [InlineData("u@a")]
    [InlineData("u:p@a")]
    [InlineData("http://a")]
    [InlineData("a:b")]
    [InlineData("a:-1")]
    [InlineData("a:65536")]
    [InlineData("a:000080")]
    [InlineData("a:80:80")]
    [InlineData(":80")]
    [InlineData("::1")]
    [InlineData("[")]
    [InlineData("[]")]
    [InlineData("[::1")]
    [InlineData("[::1]a")]
    [InlineData(":")]
    [InlineData("a::")]
    [InlineData("[]:")]
    [InlineData("[1234]")]
    [InlineData("[fe80::1%25eth0]")]
    [InlineData("[v1.x]")]
    [InlineData("a%2Fb")]
    [InlineData("a;b")]
    [InlineData("a'--")]
    [InlineData("<a>")]
    [InlineData("b\u00FCcher.example")]
    public void A_host_that_is_no_name_or_address_is_refused(string host) =>
        Refused($"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n", Http1Error.InvalidHost);

    [Theory]
    [InlineData("X: a\nY: b\r\n", Http1Error.BareLineFeed)]
    [InlineData("X: a\n", Http1Error.BareLineFeed)]
    [InlineData("X: a\n\r\n", Http1Error.BareLineFeed)]
    [InlineData("X: a\rY: b\r\n", Http1Error.BareCarriageReturn)]
    [InlineData("X: a\r\r\n", Http1Error.BareCarriageReturn)]
    [InlineData("X:\rTransfer-Encoding: chunked\r\n", Http1Error.BareCarriageReturn)]
    [InlineData("\rX: a\r\n", Http1Error.BareCarriageReturn)]
    [InlineData("\nX: a\r\n", Http1Error.BareLineFeed)]
    [InlineData("X: a\r\n b\r\n", Http1Error.ObsoleteFolding)]
    [InlineData("X: a\r\n\tb\r\n", Http1Error.ObsoleteFolding)]
    [InlineData("X:\r\n b\r\n", Http1Error.ObsoleteFolding)]
    [InlineData(" X: a\r\n", Http1Error.ObsoleteFolding)]
    [InlineData(" \r\n", Http1Error.ObsoleteFolding)]
    [InlineData("X\r\n", Http1Error.MissingColon)]
    [InlineData("X\r\n : a\r\n", Http1Error.MissingColon)]
    [InlineData("X\n", Http1Error.BareLineFeed)]
    [InlineData("X : a\r\n", Http1Error.WhitespaceBeforeColon)]
    [InlineData("X\t: a\r\n", Http1Error.WhitespaceBeforeColon)]
    [InlineData("Content-Length : 1\r\n", Http1Error.WhitespaceBeforeColon)]
    [InlineData("Transfer- Encoding: chunked\r\n", Http1Error.WhitespaceBeforeColon)]
    [InlineData(": a\r\n", Http1Error.InvalidFieldName)]
    [InlineData(":\r\n", Http1Error.InvalidFieldName)]
    [InlineData("X@: a\r\n", Http1Error.InvalidFieldName)]
    [InlineData("X(y): a\r\n", Http1Error.InvalidFieldName)]
    [InlineData("X\0: a\r\n", Http1Error.InvalidFieldName)]
    [InlineData("\u0001X: a\r\n", Http1Error.InvalidFieldName)]
    [InlineData("X\u00E9: a\r\n", Http1Error.InvalidFieldName)]
    [InlineData("X\u00A0: a\r\n", Http1Error.InvalidFieldName)]
    [InlineData("X: a\0b\r\n", Http1Error.ControlCharacter)]
    [InlineData("X: \u0001\r\n", Http1Error.ControlCharacter)]
    [InlineData("X: a\u000B\r\n", Http1Error.ControlCharacter)]
    [InlineData("X: a\u000C\r\n", Http1Error.ControlCharacter)]
    [InlineData("X: a\u001Bb\r\n", Http1Error.ControlCharacter)]
    [InlineData("X: a\u007F\r\n", Http1Error.ControlCharacter)]
    [InlineData("X: a-value-that-is-longer-than-one-vector-of-bytes-and-then\u0008\r\n", Http1Error.ControlCharacter)]
    [InlineData("Content_Length: 1\r\n", Http1Error.AmbiguousFieldName)]
    [InlineData("transfer_encoding: chunked\r\n", Http1Error.AmbiguousFieldName)]
    internal void A_field_line_in_any_other_form_is_refused(string line, Http1Error error) =>
        Refused($"GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n", error);

    [Fact]
    public void A_line_before_the_first_field_must_not_begin_with_whitespace() =>
        Refused("GET / HTTP/1.1\r\n Host: a\r\n\r\n", Http1Error.ObsoleteFolding);

    [Theory]
    [InlineData("", Http1Error.InvalidContentLength)]
    [InlineData("+1", Http1Error.InvalidContentLength)]
    [InlineData("-1", Http1Error.InvalidContentLength)]
    [InlineData("-0", Http1Error.InvalidContentLength)]
    [InlineData("0x1", Http1Error.InvalidContentLength)]
    [InlineData("0o5", Http1Error.InvalidContentLength)]
    [InlineData("1_0", Http1Error.InvalidContentLength)]
    [InlineData("1.0", Http1Error.InvalidContentLength)]
    [InlineData("1e1", Http1Error.InvalidContentLength)]
    [InlineData("a", Http1Error.InvalidContentLength)]
    [InlineData("1 0", Http1Error.InvalidContentLength)]
    [InlineData("1,1", Http1Error.InvalidContentLength)]
    [InlineData("1, 2", Http1Error.InvalidContentLength)]
    [InlineData(",1", Http1Error.InvalidContentLength)]
    [InlineData("1;", Http1Error.InvalidContentLength)]
    [InlineData("\"1\"", Http1Error.InvalidContentLength)]
    [InlineData("00", Http1Error.InvalidContentLength)]
    [InlineData("010", Http1Error.InvalidContentLength)]
    [InlineData("1\u00A0", Http1Error.InvalidContentLength)]
    [InlineData("\u00B2", Http1Error.InvalidContentLength)]
    [InlineData("9223372036854775808", Http1Error.InvalidContentLength)]
    [InlineData("18446744073709551616", Http1Error.InvalidContentLength)]
    [InlineData("18446744073709551617", Http1Error.InvalidContentLength)]
    [InlineData("99999999999999999999999999999999999999999999", Http1Error.InvalidContentLength)]
    [InlineData("1\r\nContent-Length: 1", Http1Error.DuplicateContentLength)]
    [InlineData("1\r\nContent-Length: 2", Http1Error.DuplicateContentLength)]
    [InlineData("0\r\nX: y\r\ncontent-length: 0", Http1Error.DuplicateContentLength)]
    [InlineData("1\r\nTransfer-Encoding: chunked", Http1Error.ContentLengthWithTransferEncoding)]
    [InlineData("0\r\nTransfer-Encoding: chunked", Http1Error.ContentLengthWithTransferEncoding)]
    [InlineData("1\r\nTransfer-Encoding: identity", Http1Error.ContentLengthWithTransferEncoding)]
    internal void A_length_that_readers_could_disagree_about_is_refused(string value, Http1Error error) =>
        Refused($"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {value}\r\n\r\n", error);

    [Theory]
    [InlineData("chunked\r\nContent-Length: 1", Http1Error.ContentLengthWithTransferEncoding)]
    [InlineData("", Http1Error.InvalidTransferEncoding)]
    [InlineData(",", Http1Error.InvalidTransferEncoding)]
    [InlineData("chunked,", Http1Error.InvalidTransferEncoding)]
    [InlineData(", chunked", Http1Error.InvalidTransferEncoding)]
    [InlineData("chunked, chunked", Http1Error.InvalidTransferEncoding)]
    [InlineData("chunked\r\nTransfer-Encoding: chunked", Http1Error.InvalidTransferEncoding)]
    [InlineData("chunked\r\nTransfer-Encoding: gzip", Http1Error.InvalidTransferEncoding)]
    [InlineData("chunked\r\nTransfer-Encoding:", Http1Error.InvalidTransferEncoding)]
    [InlineData("chunked, gzip", Http1Error.InvalidTransferEncoding)]
    [InlineData("chunked;q=1", Http1Error.InvalidTransferEncoding)]
    [InlineData("\"chunked\"", Http1Error.InvalidTransferEncoding)]
    [InlineData("chunked\u00A0", Http1Error.InvalidTransferEncoding)]
    [InlineData("chunked chunked", Http1Error.InvalidTransferEncoding)]
    [InlineData("gzip, chunked", Http1Error.UnsupportedTransferCoding)]
    [InlineData("gzip", Http1Error.UnsupportedTransferCoding)]
    [InlineData("identity", Http1Error.UnsupportedTransferCoding)]
    [InlineData("xchunked", Http1Error.UnsupportedTransferCoding)]
    [InlineData("chunkedchunked", Http1Error.UnsupportedTransferCoding)]
    [InlineData("chunked\u000B", Http1Error.ControlCharacter)]
    internal void Anything_but_one_final_chunked_is_refused(string value, Http1Error error) =>
        Refused($"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: {value}\r\n\r\n", error);

    [Fact]
    public void Http10_has_no_transfer_codings() =>
        Refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", Http1Error.TransferEncodingInHttp10);

    [Theory]
    [InlineData("close;")]
    [InlineData("keep alive")]
    [InlineData("\"close\"")]
    [InlineData("close, a/b")]
    [InlineData("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a")]
    public void A_connection_field_that_is_no_short_list_of_tokens_is_refused(string value) =>
        Refused($"GET / HTTP/1.1\r\nHost: a\r\nConnection: {value}\r\n\r\n", Http1Error.InvalidConnection);

    [Fact]
    public void A_refused_head_stays_refused_until_the_reset()
    {
        byte[] bytes = Latin1.Bytes("GET / HTTP/3.0\r\n\r\n");
        var parser = new RequestHeadParser();

        Assert.Equal(ParseStatus.Invalid, parser.Parse(bytes, out _));
        Assert.Equal(ParseStatus.Invalid, parser.Parse(bytes, out int consumed));
        Assert.Equal(0, consumed);
        Assert.Equal(Http1Error.UnsupportedVersion, parser.Error);

        parser.Reset();
        Assert.Equal(ParseStatus.Done, parser.Parse("GET / HTTP/1.0\r\n\r\n"u8, out _));
    }

    private static void Refused(string message, Http1Error error)
    {
        Split.Request(message, out ParsedHead head);
        Assert.Equal(ParseStatus.Invalid, head.Status);
        Assert.Equal(error, head.Error);
    }
}
