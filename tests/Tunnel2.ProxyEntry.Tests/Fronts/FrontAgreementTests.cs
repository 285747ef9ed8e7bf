using Tunnel2.ProxyEntry.Errors;
using static Tunnel2.ProxyEntry.Tests.Fronts.TwoFronts;

namespace Tunnel2.ProxyEntry.Tests.Fronts;

/// <summary>Messages in which the two fronts could differ beyond what the table says of single fields.</summary>
public sealed class FrontAgreementTests
{
    private static readonly string[] _trusted = ["TrustedProxies=10.0.0.0/8"];

    [Theory]
    [InlineData("X-Forwarded-For", "X-Forwarded-For: 1.1.1.1, 2.2.2.2, 10.1.2.3\n")]
    [InlineData("X-Forwarded-Host", "X-Forwarded-Host: 1.1.1.1, 2.2.2.2\n")]
    [InlineData("X-Forwarded-Proto", "X-Forwarded-Proto: 1.1.1.1, 2.2.2.2\n")]
    [InlineData("X-Forwarded-Port", "X-Forwarded-Port: 1.1.1.1, 2.2.2.2\n")]
    [InlineData("Forwarded", "Forwarded: 1.1.1.1, 2.2.2.2, for=10.1.2.3;host=\"web.localhost\";proto=http;by=_tunnel2\n")]
    public async Task Several_fields_of_a_trusted_proxy_are_one_list_without_empty_elements(string name, string expected)
    {
        var passed = await BothAsync(new Request((name, ""), (name, "1.1.1.1"), (name, ""), (name, "2.2.2.2")) { Settings = _trusted });
        Assert.Contains($"\n{expected}", passed.Block, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("X-Forwarded-Host", "shop.example:8443", "8443", "for=10.1.2.3;host=\"shop.example:8443\";proto=http;by=_tunnel2")]
    [InlineData("X-Forwarded-Host", "shop.example:0443", "443", "for=10.1.2.3;host=\"shop.example:0443\";proto=http;by=_tunnel2")]
    [InlineData("X-Forwarded-Host", "shop.example:99999", "80", "for=10.1.2.3;host=\"shop.example:99999\";proto=http;by=_tunnel2")]
    [InlineData("X-Forwarded-Proto", "HTTPS", "443", "for=10.1.2.3;host=\"web.localhost\";proto=HTTPS;by=_tunnel2")]
    [InlineData("X-Forwarded-Proto", "", "12000", "for=10.1.2.3;host=\"web.localhost\";proto=http;by=_tunnel2")]
    public async Task What_a_trusted_proxy_leaves_out_follows_from_what_it_says(string name, string value, string port, string forwarded)
    {
        var passed = await BothAsync(new Request((name, value)) { Settings = _trusted });
        Assert.Contains($"\nX-Forwarded-Port: {port}\nForwarded: {forwarded}\n", passed.Block, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("for=_x;by=_tunnel2", "_tunnel2.2")]
    [InlineData("by=\"_tunnel2.4\";for=_x", "_tunnel2.5")]
    [InlineData("by=_tunnel2, by=_tunnel2.9, by=_tunnel2.3", "_tunnel2.10")]
    [InlineData("by=_tunnel3", "_tunnel2")]
    public async Task Tunnels_are_counted_also_where_the_peer_is_not_trusted(string said, string by)
    {
        var passed = await BothAsync(new Request(("Forwarded", said)));
        Assert.Contains($"\nForwarded: for=10.1.2.3;host=\"web.localhost\";proto=http;by={by}\n", passed.Block, StringComparison.Ordinal);
        passed = await BothAsync(new Request(("Forwarded", said), ("Forwarded", "for=1.1.1.1")) { Settings = _trusted });
        Assert.EndsWith($"proto=http;by={by}\n", passed.Block, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Te_says_trailers_once()
    {
        var passed = await BothAsync(new Request(("TE", "trailers"), ("TE", "Trailers")));
        Assert.StartsWith(
            "POST http web.localhost /a?b\nHost: web.localhost\nTE: trailers\nX-Forwarded-For: ", passed.Block, StringComparison.Ordinal);
    }

    /// <summary>RFC 9113 section 8.2.2: what HTTP/1.1 may say beside trailers makes a request of HTTP/2 malformed.</summary>
    [Fact]
    public async Task Te_says_nothing_else_in_http2()
    {
        var request = new Request(("TE", "gzip, trailers"));
        Assert.Contains("\nTE: trailers\n", (await ByHttp1Async(request)).Block, StringComparison.Ordinal);
        Assert.Equal(ProxyError.BadRequest, ByHttp2(request).Fault);
    }

    [Theory]
    [InlineData("100-continue", true)]
    [InlineData("100-Continue", true)]
    [InlineData("x", false)]
    [InlineData("100-continue, x", false)]
    public async Task A_body_waits_only_for_a_100(string expectation, bool waits)
    {
        var passed = await BothAsync(new Request(("Expect", expectation), ("Content-Length", "2")));
        Assert.Equal(waits, passed.ExpectsContinue);
        Assert.Contains($"\nExpect: {expectation}\n", passed.Block, StringComparison.Ordinal);
        Assert.False((await BothAsync(new Request(("Expect", expectation)))).ExpectsContinue);
    }

    [Fact]
    public async Task A_trace_has_no_content()
    {
        Assert.Null((await BothAsync(new Request { Method = "TRACE" })).Fault);
        Assert.Equal(ProxyError.BadRequest, (await BothAsync(new Request(("Content-Length", "2")) { Method = "TRACE" })).Fault);
        Assert.Equal(ProxyError.BadRequest, (await BothAsync(new Request { Method = "TRACE", Trailers = [] })).Fault);
    }

    /// <summary>RFC 9113 sections 8.2.1 and 8.2.2 hold for trailers as for heads.</summary>
    [Theory]
    [InlineData("keep-alive", "x")]
    [InlineData("proxy-connection", "x")]
    [InlineData("upgrade", "x")]
    [InlineData("connection", "x")]
    [InlineData("x-padded", " a")]
    [InlineData("x-padded", "a\t")]
    public void A_trailer_that_http2_has_not_is_refused(string name, string value) =>
        Assert.Equal(ProxyError.BadRequest, ByHttp2(new Request { Trailers = [(name, value)] }).Fault);

    [Fact]
    public async Task A_length_that_is_declared_twice_is_sent_once()
    {
        (string, string)[] fields = [("Content-Length", "0"), ("content-length", "0")];
        Assert.Single((await AnswerByHttp1Async(200, fields, [])).Fields, IsLength);
        Assert.Single(AnswerByHttp2(200, fields, []).Fields, IsLength);

        static bool IsLength(string line) => line.StartsWith("content-length", StringComparison.OrdinalIgnoreCase);
    }

    [Fact]
    public async Task A_trailer_of_a_response_that_cannot_be_written_takes_no_other_with_it()
    {
        (string, string)[] trailers = [("X Y", "1"), ("X-Feed", "a\nb"), ("X-Kept", "1"), ("X-Last", "1")];
        string[] expected = ["X-Kept: 1", "X-Last: 1"];
        Assert.Equal(expected, (await AnswerByHttp1Async(200, [], trailers)).Trailers);
        Assert.Equal(expected, AnswerByHttp2(200, [], trailers).Trailers);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Writing_a_request_allocates_nothing(bool isTrusted)
    {
        var request = new Request(
            ("Accept", "*/*"), ("User-Agent", "test"), ("TE", "trailers"), ("traceparent", "00"), ("X-Real-IP", "1.1.1.1"),
            ("X-Forwarded-For", "1.1.1.1"), ("X-Forwarded-Host", "shop.example:8443"), ("X-Forwarded-Proto", "https"),
            ("Forwarded", "for=1.1.1.1"))
        {
            Method = "GET",
            Settings = isTrusted ? _trusted : [],
        };
        Assert.Equal(0, await AllocatedByHttp1Async(request));
        Assert.Equal(0, AllocatedByHttp2(request));
    }

    private static async Task<Passed> BothAsync(Request request)
    {
        var passed = await ByHttp1Async(request);
        Assert.Equal(passed, ByHttp2(request));
        return passed;
    }
}
