using System.Net;
using System.Text;
using Microsoft.AspNetCore.Http;
using Tunnel2.Http1;
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
    [InlineData("transfer_encoding", "chunked")]
    [InlineData("X Y", "a")]
    [InlineData("", "a")]
    [InlineData("X-A", "a\u0001")]
    [InlineData("X-A", "a\u007f")]
    [InlineData("X-A", " a")]
    [InlineData("X-A", "a\t")]
    [InlineData("Keep-Alive", "1")]
    [InlineData("TE", "gzip")]
    public void What_breaks_a_rule_is_refused(string name, string value) =>
        Assert.Equal(ProxyError.BadRequest, new VisitorHeaders().Read(new HeaderDictionary { [name] = value }, "GET", "/", _settings));

    [Theory]
    [InlineData("/a b", true)]
    [InlineData("/\u0001", true)]
    [InlineData("/\u00e9", true)]
    [InlineData("/a#b", true)]
    [InlineData("/a\\b", true)]
    [InlineData("/a?b\\c", false)]
    [InlineData("/%", false)]
    public void A_target_is_visible_ascii(string target, bool isRefused) =>
        Assert.Equal(isRefused ? ProxyError.BadRequest : null, new VisitorHeaders().Read(new HeaderDictionary(), "GET", target, _settings));

    [Fact]
    public void A_head_is_measured_as_http_1_would_write_it()
    {
        // GET / HTTP/1.1, CR LF; the field and its line end; the empty line.
        var room = _settings.MaxRequestHeadBytes - "GET / HTTP/1.1\r\nX: \r\n\r\n".Length;
        var fields = new VisitorHeaders();
        Assert.Null(fields.Read(new HeaderDictionary { ["X"] = new string('v', room) }, "GET", "/", _settings));
        Assert.Equal(
            ProxyError.RequestHeadTooLarge, fields.Read(new HeaderDictionary { ["X"] = new string('v', room + 1) }, "GET", "/", _settings));

        var line = _settings.MaxRequestLineBytes - "GET / HTTP/1.1".Length;
        Assert.Null(fields.Read(new HeaderDictionary(), "GET", "/" + new string('v', line), _settings));
        Assert.Equal(
            ProxyError.RequestTargetTooLong, fields.Read(new HeaderDictionary(), "GET", "/" + new string('v', line + 1), _settings));

        var many = Enumerable.Repeat("v", ProtocolLimits.MaxHeaderFields).ToArray();
        Assert.Null(fields.Read(new HeaderDictionary { ["X"] = many }, "GET", "/", _settings));
        Assert.Equal(
            ProxyError.RequestHeadTooLarge, fields.Read(new HeaderDictionary { ["X"] = many, ["Y"] = "v" }, "GET", "/", _settings));
    }

    [Theory]
    [InlineData("127.0.0.1", "127.0.0.1", "for=127.0.0.1;host=\"h:1\";proto=https;by=_tunnel2")]
    [InlineData("::ffff:10.1.2.3", "10.1.2.3", "for=10.1.2.3;host=\"h:1\";proto=https;by=_tunnel2")]
    [InlineData("2001:db8::1", "2001:db8::1", "for=\"[2001:db8::1]\";host=\"h:1\";proto=https;by=_tunnel2")]
    [InlineData("fe80::1%7", "fe80::1", "for=\"[fe80::1]\";host=\"h:1\";proto=https;by=_tunnel2")]
    [InlineData(null, "unknown", "for=unknown;host=\"h:1\";proto=https;by=_tunnel2")]
    public void Who_forwarded_what_is_said_in_both_ways(string? address, string text, string forwarded)
    {
        var buffer = new byte[1000];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginTrailers();
        var fields = new ForwardingFields(address is null ? null : IPAddress.Parse(address), 8443, isTls: true, _settings.TrustedProxies);
        fields.Begin();
        fields.Keep(KnownField.XForwardedFor, "6.6.6.6");
        fields.Keep(KnownField.Forwarded, "for=evil"u8);
        fields.Write(ref writer, "h:1");
        Assert.Equal(
            [
                $"X-Forwarded-For: {text}", "X-Forwarded-Host: h:1", "X-Forwarded-Proto: https", "X-Forwarded-Port: 8443",
                $"Forwarded: {forwarded}",
            ],
            Read(buffer.AsSpan(0, writer.Complete())));
    }

    [Fact]
    public void Each_request_says_its_own_host()
    {
        var fields = new ForwardingFields(null, 80, isTls: false, _settings.TrustedProxies);
        foreach (var host in new[] { "a", "b", "a", "ab" })
        {
            Assert.Contains($"Forwarded: for=unknown;host=\"{host}\";proto=http;by=_tunnel2", Write(fields, host));
            Assert.Equal(Write(fields, host), WriteBytes(fields, host));
        }

        static List<string> Write(ForwardingFields fields, string host)
        {
            var buffer = new byte[1000];
            var writer = new HeaderBlockWriter(buffer);
            writer.BeginTrailers();
            fields.Write(ref writer, host);
            return Read(buffer.AsSpan(0, writer.Complete()));
        }

        static List<string> WriteBytes(ForwardingFields fields, string host)
        {
            var buffer = new byte[1000];
            var writer = new HeaderBlockWriter(buffer);
            writer.BeginTrailers();
            fields.Write(ref writer, Encoding.Latin1.GetBytes(host));
            return Read(buffer.AsSpan(0, writer.Complete()));
        }
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
            // Far more values than slots: for anything that is displaced, no value is ever given for another.
            var bytes = new byte[random.Next(1, 100)];
            random.NextBytes(bytes);
            Assert.Equal(Encoding.Latin1.GetString(bytes), cache.Get(bytes));
        }
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
