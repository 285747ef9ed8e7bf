using System.Net;
using System.Text;
using Microsoft.AspNetCore.Http;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Fronts.HttpContexts;

namespace Tunnel2.ProxyEntry.Tests.Fronts;

public sealed class RequestFieldsTests
{
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
    [InlineData("X-Real-IP")]
    [InlineData(":authority")]
    public void Fields_that_are_not_the_visitors_to_say_do_not_go_on(string name) => Assert.Empty(Write(new HeaderDictionary { [name] = "x" }));

    [Theory]
    [InlineData("trailers", true)]
    [InlineData("Trailers", true)]
    [InlineData("gzip", false)]
    [InlineData("trailers, gzip", false)]
    public void Te_goes_on_only_for_trailers(string value, bool kept) => Assert.Equal(kept ? [$"TE: {value}"] : [], Write(new HeaderDictionary { ["TE"] = value }));

    [Fact]
    public void An_upgrade_keeps_its_protocol_and_a_trusted_proxy_its_address()
    {
        Assert.Equal(["Upgrade: websocket"], Write(new HeaderDictionary { ["Upgrade"] = "websocket", ["Connection"] = "Upgrade" }, isUpgrade: true));
        Assert.Equal(["X-Real-IP: 1.2.3.4"], Write(new HeaderDictionary { ["X-Real-IP"] = "1.2.3.4", ["X-Forwarded-For"] = "1.2.3.4" }, isTrusted: true));
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

    private static List<string> Write(HeaderDictionary headers, bool isUpgrade = false, bool isTrusted = false)
    {
        var buffer = new byte[1000];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginTrailers();
        RequestFields.Write(ref writer, headers, isUpgrade, isTrusted);
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
