using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.FunctionalTests.Loops;
using Tunnel2.Http2.Frames;
using Tunnel2.TestUtilities;
using static Tunnel2.FunctionalTests.Harness.Http2.Http2ServiceConnection;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>
/// Visitors that break HTTP/2, each in its way: their connection, or their stream alone, ends with the right code; visitors beside them are
/// served in that time, and afterwards nothing is left over.
/// </summary>
public sealed class HostileHttp2VisitorTests
{
    private const int Many = 5000;
    private const int ManyStreams = 1500;

    /// <summary>What ends the connection: the code of its GOAWAY, and what the visitor sends; it gets a number for a stream.</summary>
    internal static Dictionary<string, (int Code, Func<int, byte[]> Bytes)> ConnectionRows { get; } = new()
    {
        ["CONTINUATION without an end, empty"] = (11, static id => [.. Frame(1, 1, id, Block()), .. Repeat(Frame(9, 0, id, []), Many)]),
        ["CONTINUATION without an end, of a byte each"] = (
            11,
            static id =>
            [
                .. Frame(1, 1, id, Block()), .. Frame(9, 0, id, [0, 1, (byte)'a', 0x7f, 0x8a, 0x26]), .. Repeat(Frame(9, 0, id, [1]), Many),
            ]),
        ["CONTINUATION without a beginning"] = (1, static id => Frame(9, 4, id, Block())),
        ["another frame inside of a block"] = (1, static id => [.. Frame(1, 1, id, Block()), .. Frame(6, 0, 0, new byte[8])]),
        ["a block of another stream inside of a block"] = (1, static id => [.. Frame(1, 1, id, Block()), .. Frame(9, 4, id + 2, [0x82])]),
        ["a flood of SETTINGS"] = (11, static _ => Repeat(Frame(4, 0, 0, []), Many)),
        ["a flood of answers to SETTINGS"] = (11, static _ => Repeat(Frame(4, 1, 0, []), Many)),
        ["a flood of PING"] = (11, static _ => Repeat(Frame(6, 0, 0, new byte[8]), Many)),
        ["a flood of answers to PING"] = (11, static _ => Repeat(Frame(6, 1, 0, new byte[8]), Many)),
        ["a flood of PRIORITY"] = (11, static id => Repeat(Frame(2, 0, id, new byte[5]), Many)),
        ["a flood of unknown frames"] = (11, static id => Repeat(Frame(0x20, 0, id, []), Many)),
        ["a flood of empty DATA"] = (11, static id => [.. Open(id, "POST"), .. Repeat(Frame(0, 0, id, []), Many)]),
        ["a flood of DATA that is only padding"] = (
            11, static id => [.. Open(id, "POST"), .. Repeat(Frame(0, 8, id, [2, 0, 0]), Many)]),
        ["a flood of small windows"] = (11, static _ => Repeat(Frame(8, 0, 0, Number(1)), Many)),
        ["rapid reset"] = (11, static id => Streams(id, static one => [.. Get(one), .. Frame(3, 0, one, Number(8))])),
        ["resets that it makes us send: windows"] = (
            11, static id => Streams(id, static one => [.. Open(one, "POST"), .. Frame(8, 0, one, Number(int.MaxValue))])),
        ["resets that it makes us send: lengths"] = (
            11,
            static id => Streams(
                id, static one => [.. Frame(1, 4, one, Block(("content-length", "1"))), .. Frame(0, 1, one, [1, 2])])),
        ["resets that it makes us send: no path"] = (
            11, static id => Streams(id, static one => Frame(1, 5, one, PlainHpack.Encode([(":method", "GET"), (":scheme", "http")])))),
        ["a window of the connection that is too large"] = (3, static _ => Frame(8, 0, 0, Number(int.MaxValue))),
        ["a window of the connection by nothing"] = (1, static _ => Frame(8, 0, 0, Number(0))),
        ["a window of a stream by nothing"] = (1, static id => [.. Open(id, "POST"), .. Frame(8, 0, id, Number(0))]),
        ["initial windows that are too large"] = (3, static _ => Frame(4, 0, 0, [0, 4, 0x80, 0, 0, 0])),
        ["a frame size that is too small"] = (1, static _ => Frame(4, 0, 0, [0, 5, 0, 0, 0x3f, 0xff])),
        ["a frame size that is too large"] = (1, static _ => Frame(4, 0, 0, [0, 5, 1, 0, 0, 0])),
        ["push neither on nor off"] = (1, static _ => Frame(4, 0, 0, [0, 2, 0, 0, 0, 2])),
        ["SETTINGS of a broken length"] = (6, static _ => Frame(4, 0, 0, new byte[5])),
        ["SETTINGS on a stream"] = (1, static id => Frame(4, 0, id, [])),
        ["an answer to SETTINGS that says something"] = (6, static _ => Frame(4, 1, 0, new byte[6])),
        ["PUSH_PROMISE"] = (1, static id => Frame(5, 4, id, [0, 0, 0, 2, .. Block()])),
        ["HEADERS with an even number"] = (1, static _ => Frame(1, 5, 2, Block())),
        ["HEADERS on the connection"] = (1, static _ => Frame(1, 5, 0, Block())),
        ["DATA on a stream that was never opened"] = (1, static id => Frame(0, 0, id + 2, [1])),
        ["DATA on the connection"] = (1, static _ => Frame(0, 0, 0, [1])),
        ["RST_STREAM on a stream that was never opened"] = (1, static id => Frame(3, 0, id + 2, Number(8))),
        ["RST_STREAM of a broken length"] = (6, static id => [.. Open(id, "POST"), .. Frame(3, 0, id, [1])]),
        ["WINDOW_UPDATE on a stream that was never opened"] = (1, static id => Frame(8, 0, id + 2, Number(8))),
        ["WINDOW_UPDATE of a broken length"] = (6, static _ => Frame(8, 0, 0, [1])),
        ["PING of a broken length"] = (6, static _ => Frame(6, 0, 0, new byte[7])),
        ["PING on a stream"] = (1, static id => Frame(6, 0, id, new byte[8])),
        ["GOAWAY on a stream"] = (1, static id => Frame(7, 0, id, new byte[8])),
        ["PRIORITY of a broken length"] = (6, static id => Frame(2, 0, id, new byte[4])),
        ["PRIORITY of the connection"] = (1, static _ => Frame(2, 0, 0, new byte[5])),
        ["a frame that is too large"] = (6, static id => [.. Open(id, "POST"), .. Frame(0, 0, id, new byte[16 * 1024 + 1])]),
        ["padding that is longer than its frame"] = (1, static id => [.. Open(id, "POST"), .. Frame(0, 8, id, [9, 1])]),
        ["DATA after the end"] = (5, static id => [.. Get(id), .. Frame(0, 0, id, [1])]),
        ["HEADERS after the end"] = (5, static id => [.. Get(id), .. Frame(1, 5, id, Block())]),
        ["trailers without an end"] = (1, static id => [.. Open(id, "POST"), .. Frame(1, 4, id, PlainHpack.Encode([("x-a", "1")]))]),
        ["an index beyond the tables"] = (9, static id => Frame(1, 5, id, [0xff, 0x80, 0x01])),
        ["the index 0"] = (2, static id => Frame(1, 5, id, [0x80])),
        ["a number without an end"] = (9, static id => Frame(1, 5, id, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])),
        ["a text that is cut off"] = (9, static id => Frame(1, 5, id, [0x00, 0x05, (byte)'a'])),
        ["a broken Huffman code"] = (9, static id => Frame(1, 5, id, [0x48, 0x84, 0xff, 0xff, 0xff, 0xff])),
        ["a table that is too large"] = (9, static id => Frame(1, 5, id, [0x3f, 0xe1, 0xff, 0x03, .. Block()])),
        ["a name in upper case"] = (1, static id => Frame(1, 5, id, Block(("X-Upper", "1")))),
        ["a pseudo field twice: `:path`"] = (1, static id => Frame(1, 5, id, Block((":path", "/again")))),
        ["a pseudo field twice: `:authority`"] = (1, static id => Frame(1, 5, id, Doubled(":authority", "other.localhost"))),
        ["a pseudo field twice: `:method`"] = (1, static id => Frame(1, 5, id, Doubled(":method", "POST"))),
        ["a pseudo field twice: `:scheme`"] = (1, static id => Frame(1, 5, id, Doubled(":scheme", "https"))),
        ["a pseudo field after a field"] = (1, static id => Frame(1, 5, id, [.. PlainHpack.Encode([("x-a", "1")]), .. Block()])),
        ["an unknown pseudo field"] = (1, static id => Frame(1, 5, id, [.. PlainHpack.Encode([(":new", "1")]), .. Block()])),
        ["a pseudo field of answers"] = (1, static id => Frame(1, 5, id, [.. PlainHpack.Encode([(":status", "200")]), .. Block()])),
        ["a field of HTTP/1.1"] = (1, static id => Frame(1, 5, id, Block(("connection", "close")))),
        ["`TE` of anything but trailers"] = (1, static id => Frame(1, 5, id, Block(("te", "gzip")))),
        ["a pseudo field in trailers"] = (
            1, static id => [.. Open(id, "POST"), .. Frame(1, 5, id, PlainHpack.Encode([(":path", "/")]))]),
        ["a name in upper case in trailers"] = (
            1, static id => [.. Open(id, "POST"), .. Frame(1, 5, id, PlainHpack.Encode([("X-Upper", "1")]))]),
        ["a line break in a value"] = (1, static id => Frame(1, 5, id, Block(("x-a", "b\r\nc: d")))),
        ["a compression bomb"] = (1, static id => Frame(1, 5, id, [.. Block(), .. Bomb()])),
    };

    /// <summary>The same for a stream alone: the code of its RST_STREAM, or a status.</summary>
    internal static Dictionary<string, (string Answer, Func<int, byte[]> Bytes)> StreamRows { get; } = new()
    {
        ["a window of the stream that is too large"] = (
            "RST 3", static id => [.. Open(id, "POST"), .. Frame(8, 0, id, Number(int.MaxValue))]),
        ["no `:path`"] = ("RST 1", static id => Frame(
            1, 5, id, PlainHpack.Encode([(":method", "GET"), (":scheme", "http"), (":authority", TunnelFixture.Host)]))),
        ["no `:method`"] = ("RST 1", static id => Frame(
            1, 5, id, PlainHpack.Encode([(":path", "/"), (":scheme", "http"), (":authority", TunnelFixture.Host)]))),
        ["a transfer coding"] = ("400", static id => Frame(1, 5, id, Block(("transfer-encoding", "chunked")))),
        ["more DATA than declared"] = (
            "RST 1", static id => [.. Frame(1, 4, id, Block(("content-length", "1"))), .. Frame(0, 1, id, [1, 2])]),
        ["less DATA than declared"] = (
            "RST 1", static id => [.. Frame(1, 4, id, Block(("content-length", "3"))), .. Frame(0, 1, id, [1, 2])]),
        ["a length with a sign"] = ("400", static id => Frame(1, 4, id, Block(("content-length", "+5")))),
        ["a length of 23 digits"] = (
            "400", static id => Frame(1, 4, id, Block(("content-length", "99999999999999999999999")))),
        ["a length that is no number"] = ("400", static id => Frame(1, 4, id, Block(("content-length", "five")))),
        ["an empty length"] = ("400", static id => Frame(1, 4, id, Block(("content-length", "")))),
        ["a length with a space"] = ("400", static id => Frame(1, 4, id, Block(("content-length", "5 ")))),
        ["a length with a sign and no body"] = ("RST 1", static id => Frame(1, 5, id, Block(("content-length", "-0")))),
        ["a space in a name"] = ("400", static id => Frame(1, 5, id, Block(("x a", "b")))),
        ["an authority with an empty port"] = (
            "RST 1", static id => Frame(1, 5, id, PlainHpack.Encode(Http2Visitor.Request(false, authority: TunnelFixture.Host + ":")))),
        ["the scheme https without TLS, as behind a balancer that ends it"] = ("200", static id => Frame(
            1, 5, id, PlainHpack.Encode(Http2Visitor.Request(isTls: true)))),
        ["a scheme that is none of HTTP"] = ("400", static id => Frame(
            1, 5, id, PlainHpack.Encode(
                [(":method", "GET"), (":scheme", "ftp"), (":authority", TunnelFixture.Host), (":path", "/")]))),
        ["a host in a field that is not the authority"] = ("200", static id => Frame(1, 5, id, Block(("host", "other.localhost")))),
    };

    public static TheoryData<string, bool> Connections =>
        new(ConnectionRows.SelectMany(static fault => fault.Value.Code == 11
            ? new[] { (fault.Key, false), (fault.Key, true) }
            : [(fault.Key, false)]));

    public static TheoryData<string> StreamFaultNames => [.. StreamRows.Keys];

    [Theory]
    [MemberData(nameof(Connections))]
    public Task Its_connection_ends_with_the_right_code_and_others_are_served(string fault, bool isTls) => RunAsync(
        isTls,
        async (hostile, tunnel) =>
        {
            var (code, bytes) = ConnectionRows[fault];
            var sending = hostile.SendFramesAsync(bytes(hostile.NextStream().Id));
            Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
            Assert.Equal(code, await hostile.ReadEndAsync());
            await sending;
        });

    [Theory]
    [InlineData("rapid reset", "reset")]
    [InlineData("resets that it makes us send: no path", "forced-reset")]
    [InlineData("a flood of PING", "ping")]
    [InlineData("a flood of answers to SETTINGS", "settings")]
    [InlineData("a flood of empty DATA", "empty-data")]
    [InlineData("CONTINUATION without an end, empty", "continuation")]
    [InlineData("a flood of small windows", "window-update")]
    [InlineData("a flood of unknown frames", "other")]
    public Task The_log_says_who_flooded_with_what_and_it_is_counted(string fault, string reason) => RunAsync(
        isTls: false,
        async (hostile, tunnel) =>
        {
            var sending = hostile.SendFramesAsync(ConnectionRows[fault].Bytes(hostile.NextStream().Id));
            Assert.Equal(11, await hostile.ReadEndAsync());
            await sending;
            await tunnel.Entry.Log.WaitForAsync(2111);
            var line = Assert.Single(tunnel.Entry.Log.All, static line => line.EventId == 2111);
            Assert.Equal(
                "The HTTP/2 connection of 127.0.0.1 was ended with ENHANCE_YOUR_CALM: too many frames that carry nothing "
                    + $"({reason})",
                line.Text.Trim());
            Assert.Matches(
                $"tunnel2_entry_http2_floods_total\\{{error_type=\"{reason}\"\\}} 1\n", LoopVisitors.Metrics(tunnel.Entry));
        });

    [Theory]
    [MemberData(nameof(StreamFaultNames))]
    public Task Its_stream_ends_alone(string fault) => RunAsync(
        isTls: false,
        async (hostile, tunnel) =>
        {
            var (expected, bytes) = StreamRows[fault];
            var stream = hostile.NextStream();
            await hostile.SendFramesAsync(bytes(stream.Id));
            var answer = await stream.ReadWholeAsync();
            Assert.Equal((expected, null), (answer.Reset is { } reset ? $"RST {reset}" : $"{answer.Status}", answer.GoAway));
            Assert.Equal(200, (await hostile.ExchangeAsync(Http2Visitor.Request(isTls: false))).Status);
            Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
        });

    [Fact]
    public Task A_visitor_that_cancels_what_is_being_answered_may_do_so_for_ever() => RunAsync(
        isTls: false,
        static async (visitor, _) =>
        {
            // More resets than there are tokens for.
            for (var i = 0; i < 1.4 * Http2FloodGuard.Capacity / Http2FloodGuard.PerReset; i++)
            {
                var stream = await visitor.OpenAsync(Http2Visitor.Request(isTls: false, method: "POST"));
                await stream.ReadHeadAsync();
                await stream.ResetAsync(8);
            }

            Assert.Equal(200, (await visitor.ExchangeAsync(Http2Visitor.Request(isTls: false))).Status);
        },
        readsBodies: false);

    [Fact]
    public Task A_visitor_that_opens_no_window_holds_up_its_own_bodies_alone_and_gets_them_when_it_does() => RunAsync(
        isTls: false,
        static async (hostile, tunnel) =>
        {
            await hostile.SendFramesAsync(Frame(4, 0, 0, [0, 4, 0, 0, 0, 0]));
            var streams = new List<Http2VisitorStream>();
            for (var i = 0; i < 50; i++)
            {
                streams.Add(await hostile.OpenAsync(Http2Visitor.Request(isTls: false), end: true));
            }

            foreach (var stream in streams)
            {
                Assert.Equal(200, (await stream.ReadAnswerAsync()).Status);
            }

            Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
            Assert.All(streams, static stream => Assert.Equal(0, stream.Received));
            foreach (var stream in streams)
            {
                await hostile.GrantAsync(stream.Id, 2);
                Assert.Equal("ok"u8.ToArray(), await stream.ReadToEndAsync());
            }
        });

    /// <summary>The authority says where the request goes, and the service gets no other host beside it.</summary>
    [Fact]
    public async Task A_host_in_a_field_changes_neither_the_way_nor_what_the_service_sees()
    {
        var hosts = new List<string?>();
        await FrontVisitor.RunRawAsync(
            [],
            async connection =>
            {
                while (true)
                {
                    var head = await connection.ReadHeadAsync();
                    lock (hosts)
                    {
                        hosts.AddRange(head.Fields.Where(static field => field.Key.Equals("host", StringComparison.OrdinalIgnoreCase))
                            .Select(static field => field.Value));
                    }

                    await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }
            },
            async tunnel =>
            {
                await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
                Assert.Equal(200, (await visitor.ExchangeAsync(
                    Http2Visitor.Request(isTls: false, fields: ("host", "other.localhost")))).Status);
                Assert.NotEqual(200, (await visitor.ExchangeAsync(
                    Http2Visitor.Request(isTls: false, authority: "other.localhost", fields: ("host", TunnelFixture.Host)))).Status);
            });
        Assert.Equal([TunnelFixture.Host], hosts);
    }

    [Fact]
    public async Task More_bytes_than_the_windows_allow_end_the_connection_and_others_are_served()
    {
        var over = new WaitSignal("the test is over");
        await FrontVisitor.RunRawAsync(
            [],
            async connection =>
            {
                if ((await connection.ReadHeadAsync()).Method == "POST")
                {
                    await over.WaitAsync();
                    return;
                }

                await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            },
            async tunnel =>
            {
                await using var hostile = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
                var id = hostile.NextStream().Id;
                await hostile.SendFramesAsync(Open(id, "POST"));
                var ended = hostile.ReadEndAsync();
                for (var sent = 0; sent < 64 && !ended.IsCompleted; sent++)
                {
                    await hostile.SendFramesAsync(Repeat(Frame(0, 0, id, new byte[16 * 1024]), 64));
                }

                Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
                Assert.Equal(3, await ended);
                over.Set();
            });
    }

    /// <summary>Runs a test beside a service that answers "ok".</summary>
    /// <param name="isTls">Whether the hostile visitor comes by TLS.</param>
    /// <param name="test">The test.</param>
    /// <param name="readsBodies">
    /// Whether the service answers after the body. An answer before it would be right as well, and could come before what is wrong is seen.
    /// </param>
    private static Task RunAsync(bool isTls, Func<Http2Visitor, TunnelFixture, Task> test, bool readsBodies = true) =>
        FrontVisitor.RunRawAsync(
            [],
            async connection =>
            {
                while (true)
                {
                    var head = await connection.ReadHeadAsync();
                    if (readsBodies && (head["Content-Length"] ?? head["Transfer-Encoding"]) is not null)
                    {
                        await connection.ReadBodyAsync(head);
                    }

                    await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }
            },
            async tunnel =>
            {
                await using var hostile = await Http2Visitor.ConnectAsync(isTls ? tunnel.Entry.Https : tunnel.Entry.Http, isTls);
                await test(hostile, tunnel);
            });

    private static byte[] Get(int id) => Frame(1, 5, id, Block());

    private static byte[] Open(int id, string method) => Frame(
        1, 4, id, PlainHpack.Encode([(":method", method), (":scheme", "http"), (":authority", TunnelFixture.Host), (":path", "/")]));

    private static byte[] Block(params (string Name, string Value)[] fields) =>
        PlainHpack.Encode(Http2Visitor.Request(false, fields: fields));

    private static byte[] Doubled(string name, string value) => [.. PlainHpack.Encode([(name, value)]), .. Block()];

    private static byte[] Repeat(byte[] bytes, int count) => [.. Enumerable.Repeat(bytes, count).SelectMany(static one => one)];

    private static byte[] Streams(int first, Func<int, byte[]> one) =>
        [.. Enumerable.Range(0, ManyStreams).SelectMany(i => one(first + (2 * i)))];

    /// <summary>One field of four thousand bytes, added to the table, and then ten thousand times its index.</summary>
    private static byte[] Bomb() =>
        [0x40, 1, (byte)'a', 0x7f, 0xa1, 0x1e, .. Enumerable.Repeat((byte)'b', 4000), .. Enumerable.Repeat((byte)0xbe, 10_000)];
}
