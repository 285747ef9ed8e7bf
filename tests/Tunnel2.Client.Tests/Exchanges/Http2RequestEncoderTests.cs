using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Http1;
using Tunnel2.Http2.Hpack;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Tests.Exchanges;

public sealed class Http2RequestEncoderTests
{
    private static readonly BackendTarget _target = new(false, "127.0.0.1", 3000);

    [Fact]
    public void Pseudo_fields_come_first_and_names_are_lower_case() => Assert.Equal(
        ":method: GET|:scheme: http|:path: /a?b|:authority: web.localhost|x-b: 1|x-a: |x-b: 2",
        Encode(_target, RequestBlocks.Make("/a?b", fields: [("x-B", "1"), ("HOST", "web.localhost"), ("X-a", ""), ("x-B", " 2 ")])));

    [Fact]
    public void A_block_without_host_gets_its_authority_and_https_its_scheme() => Assert.Equal(
        ":method: PUT|:scheme: https|:path: /|:authority: web.localhost|a: b",
        Encode(_target with { IsHttps = true }, RequestBlocks.Make(method: "PUT", fields: ("A", "b"))));

    [Fact]
    public void The_backends_own_host_takes_the_place_of_the_visitors() => Assert.Equal(
        ":method: GET|:scheme: http|:path: /|:authority: 127.0.0.1:3000",
        Encode(_target, RequestBlocks.Make(fields: ("Host", "x")), HostHeaderPolicy.Rewrite));

    [Theory]
    [InlineData("/base", "/", "/base/")]
    [InlineData("/base", "*", "*")]
    [InlineData("", "//", "//")]
    public void The_path_of_the_backend_comes_before_a_path_and_nothing_else(string prefix, string target, string expected) =>
        Assert.Contains(
            $"|:path: {expected}|", Encode(_target with { PathPrefix = prefix }, RequestBlocks.Make(target)), StringComparison.Ordinal);

    [Fact]
    public void Fields_of_one_hop_stay_here_and_a_length_is_written_once() => Assert.Equal(
        ":method: GET|:scheme: http|:path: /|:authority: h|te: trailers|content-length: 5",
        Encode(
            _target,
            RequestBlocks.Make(
                fields:
                [
                    ("Host", "h"), ("Connection", "keep-alive"), ("Keep-Alive", "x"), ("Proxy-Connection", "x"),
                    ("Transfer-Encoding", "gzip"), ("Upgrade", "x"), ("HTTP2-Settings", "x"), ("TE", "gzip"), ("TE", "Trailers"),
                    ("Content-Length", "5"), ("Content-Length", "5"), ("Proxy", "x"), ("Tunnel2-Timing", "1"),
                ])).Replace("te: Trailers", "te: trailers", StringComparison.Ordinal));

    [Fact]
    public void A_websocket_is_an_extended_connect() => Assert.Equal(
        ":method: CONNECT|:scheme: http|:path: /s|:authority: h|:protocol: websocket|sec-websocket-version: 13|origin: o",
        Encode(
            _target,
            RequestBlocks.Make(
                "/s",
                flags: HeaderBlockFlags.Upgrade,
                fields:
                [
                    ("Host", "h"), ("Upgrade", "websocket"), ("Sec-WebSocket-Key", "k"), ("Sec-WebSocket-Version", "13"), ("Origin", "o"),
                    ("Content-Length", "0"),
                ]),
            isConnect: true));

    [Theory]
    [InlineData("G T", "/", "a", "b")]
    [InlineData("GET", "/ ", "a", "b")]
    [InlineData("GET", "/", "a b", "b")]
    [InlineData("GET", "/", "a:", "b")]
    [InlineData("GET", "/", "a", "b\r\nc: d")]
    [InlineData("GET", "/", "a", "b\0")]
    public void A_part_that_could_become_another_is_refused(string method, string target, string name, string value) =>
        Assert.Null(Encode(_target, RequestBlocks.Make(target, method, fields: [(name, value)])));

    [Fact]
    public void A_buffer_that_is_too_small_is_reported()
    {
        HeaderBlock.TryRead(RequestBlocks.Make(), out var block);
        var encoder = new Http2RequestEncoder(_target, HostHeaderPolicy.Keep);
        Assert.Equal(HeadWriteStatus.DestinationTooSmall, encoder.Write(block, false, new byte[8], out _));
    }

    [Fact]
    public void Trailers_that_frame_or_route_are_refused_and_those_for_a_hop_dropped()
    {
        Assert.Equal("x-sum: 1|grpc-status: 0", Trailers(("X-Sum", "1"), ("Connection", "x"), ("grpc-status", "0")));
        Assert.Null(Trailers(("Content-Length", "1")));
        Assert.Null(Trailers(("a b", "1")));
    }

    private static string? Trailers(params (string Name, string Value)[] fields)
    {
        var bytes = new byte[1024];
        var writer = new HeaderBlockWriter(bytes);
        writer.BeginTrailers();
        foreach (var (name, value) in fields)
        {
            writer.AddField(name, value);
        }

        HeaderBlock.TryRead(bytes.AsSpan(0, writer.Complete()), out var block);
        var buffer = new byte[1024];
        return Http2RequestEncoder.WriteTrailers(block, buffer, out var length) == HeadWriteStatus.Ok
            ? Decode(buffer.AsSpan(0, length))
            : null;
    }

    private static string Encode(BackendTarget target, byte[] blockBytes, HostHeaderPolicy host = default, bool isConnect = false)
    {
        HeaderBlock.TryRead(blockBytes, out var block);
        var buffer = new byte[ProtocolLimits.MaxHeaderBlockLength];
        return new Http2RequestEncoder(target, host).Write(block, isConnect, buffer, out var length) == HeadWriteStatus.Ok
            ? Decode(buffer.AsSpan(0, length))
            : null!;
    }

    private static string Decode(ReadOnlySpan<byte> block)
    {
        var fields = new List<string>();
        var decoder = new HpackDecoder();
        decoder.Begin(block.Length);
        while (decoder.TryRead(ref block, out var name, out var value) == HpackStatus.Field)
        {
            fields.Add($"{Encoding.Latin1.GetString(name)}: {Encoding.Latin1.GetString(value)}");
        }

        return string.Join('|', fields);
    }
}
