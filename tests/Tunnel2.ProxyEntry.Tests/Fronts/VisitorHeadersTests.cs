using System.Net;
using System.Text;
using Microsoft.AspNetCore.Http;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Fronts;
using Tunnel2.ProxyEntry.Fronts.HttpContexts;
using Tunnel2.ProxyEntry.Tests.Configuration;

namespace Tunnel2.ProxyEntry.Tests.Fronts;

public sealed class VisitorHeadersTests
{
    private static readonly ProxyEntrySettings _settings = SettingsFixture.LoadValid();

    [Theory]
    [InlineData("keep-alive")]
    [InlineData("X-B")]
    [InlineData("close, x-b ,, X-C")]
    public void Connection_takes_itself_and_what_it_lists_away(string connection)
    {
        var fields = Write(new HeaderDictionary { ["Connection"] = connection, ["X-A"] = "1", ["X-B"] = "2", ["X-C"] = "3" });
        string[] expected = ["X-A: 1", .. connection == "keep-alive" ? new[] { "X-B: 2" } : [], .. connection.Contains("X-C", StringComparison.Ordinal) ? [] : new[] { "X-C: 3" }];
        Assert.Equal(expected, fields);
    }

    [Fact]
    public void What_frames_or_routes_a_request_cannot_be_listed_away() => Assert.Equal(
        ["Host: h", "Content-Length: 5", "Expect: 100-continue"],
        Write(new HeaderDictionary { ["Connection"] = "host, CONTENT-LENGTH, expect", ["Host"] = "h", ["Content-Length"] = "5", ["Expect"] = "100-continue" }));

    [Theory]
    [InlineData("Keep-Alive")]
    [InlineData("proxy-connection")]
    [InlineData("Proxy-Authenticate")]
    [InlineData("Proxy-Authorization")]
    [InlineData("Transfer-Encoding")]
    [InlineData("HTTP2-Settings")]
    [InlineData("Upgrade")]
    [InlineData("X-Forwarded-For")]
    [InlineData("x-forwarded-host")]
    [InlineData("X-Forwarded-Proto")]
    [InlineData("X-Forwarded-Port")]
    [InlineData("Forwarded")]
    [InlineData("X-Forwarded-Prefix")]
    [InlineData("x_forwarded_for")]
    [InlineData("Proxy")]
    [InlineData("Proxy_Authorization")]
    [InlineData("Tunnel2-Timing")]
    [InlineData("X-Real-IP")]
    [InlineData(":authority")]
    public void Fields_that_are_not_the_visitors_to_say_do_not_go_on(string name) => Assert.Empty(Write(new HeaderDictionary { [name] = "x" }));

    [Theory]
    [InlineData("trailers", true)]
    [InlineData("Trailers", true)]
    [InlineData("gzip", false)]
    [InlineData("gzip, trailers", true)]
    public void Te_goes_on_only_for_trailers(string value, bool kept) => Assert.Equal(kept ? ["TE: trailers"] : [], Write(new HeaderDictionary { ["TE"] = value }));

    [Fact]
    public void A_trusted_proxy_keeps_its_address()
    {
        Assert.Equal(["X-Real-IP: 1.2.3.4"], Write(new HeaderDictionary { ["X-Real-IP"] = "1.2.3.4", ["X-Forwarded-For"] = "1.2.3.4" }, isTrusted: true));
        Assert.Equal(["X-Forwarded-Prefix: /a"], Write(new HeaderDictionary { ["X-Forwarded-Prefix"] = "/a", ["X_Forwarded_Prefix"] = "/b" }, isTrusted: true));
    }

    [Theory]
    [InlineData("transfer_encoding", "chunked", true)]
    [InlineData("X Y", "a", true)]
    [InlineData("", "a", true)]
    [InlineData("X-A", "a\u0001", true)]
    [InlineData("X-A", "a\u007f", true)]
    [InlineData("X-A", " a", false)]
    [InlineData("Keep-Alive", "1", false)]
    public void What_breaks_a_rule_is_refused(string name, string value, bool inEveryVersion)
    {
        var fields = new VisitorHeaders();
        var headers = new HeaderDictionary { [name] = value };
        Assert.Equal(ProxyError.BadRequest, fields.Read(headers, "GET", "/", _settings, isHttp2: true));
        Assert.Equal(inEveryVersion ? ProxyError.BadRequest : null, fields.Read(headers, "GET", "/", _settings, isHttp2: false));
    }

    [Theory]
    [InlineData("/a b", true)]
    [InlineData("/\u0001", true)]
    [InlineData("/\u00e9", true)]
    [InlineData("/a#b", true)]
    [InlineData("/a\\b", true)]
    [InlineData("/a?b\\c", false)]
    [InlineData("/%", false)]
    public void A_target_is_visible_ascii(string target, bool isRefused) =>
        Assert.Equal(isRefused ? ProxyError.BadRequest : null, new VisitorHeaders().Read(new HeaderDictionary(), "GET", target, _settings, isHttp2: true));

    [Fact]
    public void A_head_is_measured_as_http_1_would_write_it()
    {
        // GET / HTTP/1.1, CR LF; the field and its line end; the empty line.
        var room = _settings.MaxRequestHeadBytes - "GET / HTTP/1.1\r\nX: \r\n\r\n".Length;
        var fields = new VisitorHeaders();
        Assert.Null(fields.Read(new HeaderDictionary { ["X"] = new string('v', room) }, "GET", "/", _settings, isHttp2: true));
        Assert.Equal(ProxyError.RequestHeadTooLarge, fields.Read(new HeaderDictionary { ["X"] = new string('v', room + 1) }, "GET", "/", _settings, isHttp2: true));

        var line = _settings.MaxRequestLineBytes - "GET / HTTP/1.1".Length;
        Assert.Null(fields.Read(new HeaderDictionary(), "GET", "/" + new string('v', line), _settings, isHttp2: true));
        Assert.Equal(ProxyError.RequestTargetTooLong, fields.Read(new HeaderDictionary(), "GET", "/" + new string('v', line + 1), _settings, isHttp2: true));

        var many = Enumerable.Repeat("v", ProtocolLimits.MaxHeaderFields).ToArray();
        Assert.Null(fields.Read(new HeaderDictionary { ["X"] = many }, "GET", "/", _settings, isHttp2: true));
        Assert.Equal(ProxyError.RequestHeadTooLarge, fields.Read(new HeaderDictionary { ["X"] = many, ["Y"] = "v" }, "GET", "/", _settings, isHttp2: true));
    }

    [Theory]
    [InlineData("127.0.0.1", "127.0.0.1", "for=127.0.0.1;host=\"h:1\";proto=https")]
    [InlineData("::ffff:10.1.2.3", "10.1.2.3", "for=10.1.2.3;host=\"h:1\";proto=https")]
    [InlineData("2001:db8::1", "2001:db8::1", "for=\"[2001:db8::1]\";host=\"h:1\";proto=https")]
    [InlineData(null, "unknown", "for=unknown;host=\"h:1\";proto=https")]
    public void Who_forwarded_what_is_said_in_both_ways(string? address, string text, string forwarded)
    {
        var buffer = new byte[1000];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginTrailers();
        var visitor = new VisitorAddress(address is null ? null : IPAddress.Parse(address));
        ForwardingFields.Write(ref writer, new HeaderDictionary { ["X-Forwarded-For"] = "6.6.6.6", ["Forwarded"] = "for=evil" }, visitor, "h:1", "https", 8443, isTrusted: false);
        Assert.Equal(
            [$"X-Forwarded-For: {text}", "X-Forwarded-Host: h:1", "X-Forwarded-Proto: https", "X-Forwarded-Port: 8443", $"Forwarded: {forwarded}"],
            Read(buffer.AsSpan(0, writer.Complete())));
    }

    [Fact]
    public void Strings_for_bytes_are_made_once_and_are_always_right()
    {
        var cache = new HeaderStringCache();
        Assert.Same(cache.Get("Content-Type"u8), cache.Get([.. "Content-Type"u8]));
        Assert.Equal("\u00e9\u00ff", cache.Get([0xE9, 0xFF]));
        Assert.Equal("", cache.Get([]));
        var random = new Random(1);
        for (var i = 0; i < 20_000; i++)
        {
            // Far more values than slots: whatever is displaced, no value is ever given for another.
            var bytes = new byte[random.Next(1, 100)];
            random.NextBytes(bytes);
            Assert.Equal(Encoding.Latin1.GetString(bytes), cache.Get(bytes));
        }
    }

    private static List<string> Write(HeaderDictionary headers, bool isTrusted = false)
    {
        var buffer = new byte[1000];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginTrailers();
        var fields = new VisitorHeaders();
        Assert.Null(fields.Read(headers, "GET", "/", _settings, isHttp2: false));
        fields.Write(ref writer, isTrusted, extras: null);
        return Read(buffer.AsSpan(0, writer.Complete()));
    }

    private static List<string> Read(ReadOnlySpan<byte> bytes)
    {
        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(bytes, out var block));
        var lines = new List<string>();
        foreach (var line in block.Fields)
        {
            lines.Add($"{Encoding.Latin1.GetString(line.Name)}: {Encoding.Latin1.GetString(line.Value)}");
        }

        return lines;
    }
}
