using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Http1;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Tests.Exchanges;

public sealed class RequestHeadEncoderTests
{
    private static readonly BackendTarget _target = new(false, "127.0.0.1", 3000);

    [Fact]
    public void Fields_keep_their_order_case_and_number() => Assert.Equal(
        "GET /a?b HTTP/1.1\r\nx-B: 1\r\nHOST: web.localhost\r\nX-a: \r\nx-B: 2\r\n\r\n",
        Encode(
            _target,
            HostHeaderPolicy.Keep,
            RequestFraming.None,
            RequestBlocks.Make("/a?b", fields: [("x-B", "1"), ("HOST", "web.localhost"), ("X-a", ""), ("x-B", "2")])));

    [Fact]
    public void A_block_without_host_gets_its_authority() => Assert.Equal(
        "GET / HTTP/1.1\r\nHost: web.localhost\r\nA: b\r\n\r\n",
        Encode(_target, HostHeaderPolicy.Keep, RequestFraming.None, RequestBlocks.Make(fields: ("A", "b"))));

    [Fact]
    public void The_backends_own_host_takes_the_place_of_the_visitors_and_is_sent_once() => Assert.Equal(
        "GET / HTTP/1.1\r\nA: 1\r\nHost: 127.0.0.1:3000\r\n\r\n",
        Encode(
            _target,
            HostHeaderPolicy.Rewrite,
            RequestFraming.None,
            RequestBlocks.Make(fields: [("A", "1"), ("Host", "x"), ("host", "y")])));

    [Theory]
    [InlineData("/base", "/", "/base/")]
    [InlineData("/base", "/a//b", "/base/a//b")]
    [InlineData("/base", "*", "*")]
    [InlineData("", "//", "//")]
    public void The_path_of_the_backend_comes_before_a_path_and_nothing_else(
        string prefix, string target, string expected) => Assert.StartsWith(
        $"GET {expected} HTTP/1.1\r\n",
        Encode(_target with { PathPrefix = prefix }, HostHeaderPolicy.Keep, RequestFraming.None, RequestBlocks.Make(target)),
        StringComparison.Ordinal);

    [Theory]
    [InlineData(nameof(RequestFraming.None), "")]
    [InlineData(nameof(RequestFraming.Length), "Content-Length: 5\r\n")]
    [InlineData(nameof(RequestFraming.Chunked), "Transfer-Encoding: chunked\r\n")]
    [InlineData(nameof(RequestFraming.Raw), "Upgrade: x\r\nConnection: Upgrade\r\n")]
    public void The_framing_is_our_own_and_not_the_blocks(string framingName, string lines)
    {
        var framing = Enum.Parse<RequestFraming>(framingName);
        (string, string)[] fields =
        [
            ("Host", "h"), ("Connection", "keep-alive, X-A"), ("Keep-Alive", "x"), ("Proxy-Connection", "x"), ("Transfer-Encoding", "gzip"),
            ("Upgrade", "x"),
            .. framing == RequestFraming.Length ? new[] { ("Content-Length", "5"), ("Content-Length", "5") } : [],
        ];
        Assert.Equal(
            $"GET / HTTP/1.1\r\nHost: h\r\n{lines}\r\n",
            Encode(_target, HostHeaderPolicy.Keep, framing, RequestBlocks.Make(fields: fields)));
    }

    [Fact]
    public void What_is_not_for_the_backend_ends_here() => Assert.Equal(
        "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n",
        Encode(
            _target,
            HostHeaderPolicy.Keep,
            RequestFraming.None,
            RequestBlocks.Make(fields:
            [
                ("Host", "h"), ("Tunnel2-Timing", "1"), ("tunnel2_x", "1"), ("Proxy", "http://evil"), ("Proxy_Authorization", "x"),
                ("x_forwarded_for", "6.6.6.6"), ("TE", "gzip"), ("X-Forwarded-For", "1.2.3.4"),
            ])));

    [Fact]
    public void Of_an_upgrade_only_what_may_cross_is_asked() => Assert.Equal(
        "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        Encode(
            _target,
            HostHeaderPolicy.Keep,
            RequestFraming.Raw,
            RequestBlocks.Make(fields: [("Host", "h"), ("Upgrade", "h2c, websocket"), ("Upgrade", "TLS/1.0")])));

    [Fact]
    public void Trailers_are_announced_and_accepted_across_the_agent() => Assert.Equal(
        "GET / HTTP/1.1\r\nHost: h\r\nTE: trailers\r\nTrailer: X-Sum\r\n\r\n",
        Encode(
            _target,
            HostHeaderPolicy.Keep,
            RequestFraming.None,
            RequestBlocks.Make(fields: [("Host", "h"), ("TE", "trailers"), ("Trailer", "X-Sum")])));

    [Theory]
    [InlineData("GET", "/a b", "A", "x")]
    [InlineData("GET", "/\r\n", "A", "x")]
    [InlineData("GET", "", "A", "x")]
    [InlineData("G T", "/", "A", "x")]
    [InlineData("GET", "/", "A:", "x")]
    [InlineData("GET", "/", "", "x")]
    [InlineData("GET", "/", "A", "x\r\nB: y")]
    [InlineData("GET", "/", "A", "x\ny")]
    [InlineData("GET", "/", "A", "\0")]
    [InlineData("GET", "/", "Host", "a\r\nb: c")]
    public void What_cannot_stand_in_a_head_is_not_written(string method, string target, string name, string value)
    {
        var block = RequestBlocks.Make(target, method, fields: (name, value));
        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(block, out var read));
        Assert.Equal(
            HeadWriteStatus.InvalidSyntax,
            new RequestHeadEncoder(_target, HostHeaderPolicy.Keep).Write(read, RequestFraming.None, new byte[1000], out _));
    }

    [Fact]
    public void A_room_too_small_is_said_and_not_overrun()
    {
        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(RequestBlocks.Make(fields: ("A", new string('x', 100))), out var read));
        var room = new byte[110];
        Assert.Equal(
            HeadWriteStatus.DestinationTooSmall,
            new RequestHeadEncoder(_target, HostHeaderPolicy.Keep).Write(read, RequestFraming.None, room.AsSpan(0, 100), out _));
        Assert.True(room.AsSpan(100).IndexOfAnyExcept((byte)0) < 0);
    }

    private static string Encode(BackendTarget target, HostHeaderPolicy policy, RequestFraming framing, byte[] block)
    {
        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(block, out var read));
        var buffer = new byte[10_000];
        Assert.Equal(HeadWriteStatus.Ok, new RequestHeadEncoder(target, policy).Write(read, framing, buffer, out var written));
        return Encoding.Latin1.GetString(buffer, 0, written);
    }
}
