using System.Buffers.Binary;
using System.Text;
using Tunnel2.Client.Core.Http2;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;
using static Tunnel2.FunctionalTests.Harness.Http2.Http2ServiceConnection;

namespace Tunnel2.FunctionalTests.Http2Backends;

/// <summary>
/// Services that break HTTP/2, each in its way: the visitor gets 502, the service the right code, and what it did to one exchange or
/// connection does nothing to the next.
/// </summary>
[Trait("Engine", "each")]
public sealed class HostileServiceTests
{
    private const int Many = 5000;

    private static readonly byte[] _ok = PlainHpack.Encode([(":status", "200")]);

    /// <summary>What a service does with a request, and the code of the GOAWAY that it gets for it.</summary>
    internal static Dictionary<string, (uint Code, Func<int, byte[]> Bytes)> ConnectionRows { get; } = new()
    {
        ["CONTINUATION without an end"] = (
            11, static id => [.. Frame(1, 0, id, _ok), .. Repeat(Frame(9, 0, id, [0x82]), Many)]),
        ["CONTINUATION of nothing"] = (11, static id => [.. Frame(1, 0, id, _ok), .. Repeat(Frame(9, 0, id, []), Many)]),
        ["CONTINUATION without a beginning"] = (1, static id => Frame(9, 4, id, _ok)),
        ["another frame inside of a block"] = (1, static id => [.. Frame(1, 0, id, _ok), .. Frame(6, 0, 0, new byte[8])]),
        ["a flood of SETTINGS"] = (11, static _ => Repeat(Frame(4, 0, 0, []), Many)),
        ["a flood of answers to SETTINGS"] = (11, static _ => Repeat(Frame(4, 1, 0, []), Many)),
        ["a flood of PING"] = (11, static _ => Repeat(Frame(6, 0, 0, new byte[8]), Many)),
        ["a flood of PRIORITY"] = (11, static id => Repeat(Frame(2, 0, id, new byte[5]), Many)),
        ["a flood of unknown frames"] = (11, static id => Repeat(Frame(0x20, 0, id, []), Many)),
        ["a flood of empty DATA"] = (11, static id => [.. Frame(1, 4, id, _ok), .. Repeat(Frame(0, 0, id, []), Many)]),
        ["a flood of small windows"] = (11, static id => Repeat(Frame(8, 0, id, Number(1)), Many)),
        ["a window of the connection that is too large"] = (3, static _ => Frame(8, 0, 0, Number(int.MaxValue))),
        ["a window of the connection by nothing"] = (1, static _ => Frame(8, 0, 0, Number(0))),
        ["initial windows that are too large"] = (3, static _ => Frame(4, 0, 0, [0, 4, 0x80, 0, 0, 0])),
        ["a flood of DATA that is only padding"] = (
            11, static id => [.. Frame(1, 4, id, _ok), .. Repeat(Frame(0, 8, id, [2, 0, 0]), Many)]),
        ["a flood of answers to PING"] = (11, static _ => Repeat(Frame(6, 1, 0, new byte[8]), Many)),
        ["a flood of GOAWAY"] = (11, static _ => Repeat(Frame(7, 0, 0, [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]), Many)),
        ["a flood of heads after a reset"] = (
            11, static id => [.. Frame(3, 0, id, Number(8)), .. Repeat(Frame(1, 4, id, _ok), Many)]),
        ["more DATA after a reset than the window had left"] = (
            3, static id => [.. Frame(3, 0, id, Number(8)), .. Repeat(Frame(0, 0, id, new byte[16 * 1024]), 5)]),
        ["a flood of heads after a head that is refused"] = (
            11, static id => [.. Frame(1, 4, id, []), .. Repeat(Frame(1, 4, id, _ok), Many)]),
        ["a flood of resets of one stream"] = (11, static id => Repeat(Frame(3, 0, id, Number(8)), Many)),
        ["a frame size that is too small"] = (1, static _ => Frame(4, 0, 0, [0, 5, 0, 0, 0x3f, 0xff])),
        ["SETTINGS of a broken length"] = (6, static _ => Frame(4, 0, 0, new byte[5])),
        ["SETTINGS on a stream"] = (1, static id => Frame(4, 0, id, [])),
        ["push that it allows itself"] = (1, static _ => Frame(4, 0, 0, [0, 2, 0, 0, 0, 1])),
        ["PUSH_PROMISE"] = (1, static id => Frame(5, 4, id, [0, 0, 0, 2, .. _ok])),
        ["HEADERS on a stream of its own"] = (1, static _ => Frame(1, 4, 2, _ok)),
        ["DATA on a stream that was never opened"] = (1, static id => Frame(0, 0, id + 2, [1])),
        ["DATA on the connection"] = (1, static _ => Frame(0, 0, 0, [1])),
        ["RST_STREAM on a stream that was never opened"] = (1, static id => Frame(3, 0, id + 2, Number(8))),
        ["WINDOW_UPDATE on a stream that was never opened"] = (1, static id => Frame(8, 0, id + 2, Number(8))),
        ["RST_STREAM of a broken length"] = (6, static id => Frame(3, 0, id, [1])),
        ["PING of a broken length"] = (6, static _ => Frame(6, 0, 0, new byte[7])),
        ["GOAWAY of a broken length"] = (6, static _ => Frame(7, 0, 0, new byte[7])),
        ["a frame that is too large"] = (6, static id => Frame(0, 0, id, new byte[16 * 1024 + 1])),
        ["padding that is longer than its frame"] = (1, static id => [.. Frame(1, 4, id, _ok), .. Frame(0, 8, id, [9, 1])]),
        ["an index beyond the tables"] = (9, static id => Frame(1, 4, id, [0xff, 0x80, 0x01])),
        ["a number without an end"] = (9, static id => Frame(1, 4, id, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])),
        ["a text that is cut off"] = (9, static id => Frame(1, 4, id, [0x00, 0x05, (byte)'a'])),
        ["a broken Huffman code"] = (9, static id => Frame(1, 4, id, [0x48, 0x84, 0xff, 0xff, 0xff, 0xff])),
        ["a table that is too large"] = (9, static id => Frame(1, 4, id, [0x3f, 0xe1, 0xff, 0x03, .. _ok])),
    };

    /// <summary>The same, and the code of the RST_STREAM: the connection serves on.</summary>
    internal static Dictionary<string, (uint Code, Func<int, byte[]> Bytes)> StreamRows { get; } = new()
    {
        ["a name in upper case"] = (1, static id => Head(id, (":status", "200"), ("X-Upper", "1"))),
        ["a status twice"] = (1, static id => Head(id, (":status", "200"), (":status", "200"))),
        ["a status after a field"] = (1, static id => Head(id, ("a", "b"), (":status", "200"))),
        ["no status"] = (1, static id => Head(id, ("a", "b"))),
        ["a status that is no number"] = (1, static id => Head(id, (":status", "20x"))),
        ["a pseudo field of requests"] = (1, static id => Head(id, (":status", "200"), (":path", "/"))),
        ["a field of HTTP/1.1"] = (1, static id => Head(id, (":status", "200"), ("connection", "close"))),
        ["a transfer coding"] = (1, static id => Head(id, (":status", "200"), ("transfer-encoding", "chunked"))),
        ["a line break in a value"] = (1, static id => Head(id, (":status", "200"), ("a", "b\r\nc: d"))),
        ["a NUL in a value"] = (1, static id => Head(id, (":status", "200"), ("a", "b\0"))),
        ["a space in a name"] = (1, static id => Head(id, (":status", "200"), ("a b", "c"))),
        ["a switch of protocols"] = (1, static id => Head(id, (":status", "101"))),
        ["two lengths"] = (1, static id => Head(id, (":status", "200"), ("content-length", "1"), ("content-length", "2"))),
        ["a length that is no number"] = (1, static id => Head(id, (":status", "200"), ("content-length", "+1"))),
        ["an interim response that ends"] = (1, static id => Frame(1, 5, id, PlainHpack.Encode([(":status", "103")]))),
        ["more interim responses than any service sends"] = (1, static id => Repeat(Head(id, (":status", "103")), 1001)),
        ["DATA before the head"] = (1, static id => Frame(0, 0, id, [1])),
        ["more DATA than declared"] = (
            1, static id => [.. Head(id, (":status", "200"), ("content-length", "1")), .. Frame(0, 1, id, [1, 2])]),
        ["less DATA than declared"] = (
            1, static id => [.. Head(id, (":status", "200"), ("content-length", "3")), .. Frame(0, 1, id, [1, 2])]),
        ["a window of the stream by nothing"] = (1, static id => Frame(8, 0, id, Number(0))),
        ["a window of the stream that is too large"] = (3, static id => Frame(8, 0, id, Number(int.MaxValue))),
        ["more fields than a tunnel carries"] = (
            11, static id => Head(id, [(":status", "200"), .. Enumerable.Range(0, 300).Select(static i => ($"x-{i}", "1"))])),
        ["trailers without an end"] = (
            1, static id => [.. Head(id, (":status", "200")), .. Head(id, ("x-a", "1"))]),
        ["a pseudo field in trailers"] = (
            1, static id => [.. Head(id, (":status", "200")), .. Frame(1, 5, id, PlainHpack.Encode([(":status", "200")]))]),
        ["a name in upper case in trailers"] = (
            1, static id => [.. Head(id, (":status", "200")), .. Frame(1, 5, id, PlainHpack.Encode([("X-Upper", "1")]))]),
        ["a length in trailers"] = (
            1, static id => [.. Head(id, (":status", "200")), .. Frame(1, 5, id, PlainHpack.Encode([("content-length", "1")]))]),
        ["a compression bomb"] = (11, static id => Frame(1, 4, id, Bomb())),
    };

    public static TheoryData<string> ConnectionFaults => [.. ConnectionRows.Keys];

    public static TheoryData<string> StreamFaults => [.. StreamRows.Keys];

    [Theory]
    [MemberData(nameof(ConnectionFaults))]
    public async Task Its_connection_ends_with_the_right_code_and_the_next_request_has_a_new_one(string fault)
    {
        var (expected, bytes) = ConnectionRows[fault];
        var code = new TaskCompletionSource<uint>(TaskCreationOptions.RunContinuationsAsynchronously);
        await Http2Service.RunAsync(
            async (service, number) =>
            {
                var request = await service.ReadRequestAsync();
                if (number > 0)
                {
                    await service.AnswerAsync(request.Id);
                    return;
                }

                await service.WriteAsync(bytes(request.Id));
                code.SetResult(await service.ReadGoAwayAsync());
            },
            async tunnel =>
            {
                await AssertNotWellAsync(tunnel, "POST");
                Assert.Equal(expected, await code.Task.WaitAsync(AsyncCounter.DefaultTimeout));
                Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
            });
    }

    [Theory]
    [MemberData(nameof(StreamFaults))]
    public async Task Its_stream_is_reset_with_the_right_code_and_the_connection_serves_on(string fault)
    {
        var (expected, bytes) = StreamRows[fault];
        uint? code = null;
        await Http2Service.RunAsync(
            async (service, _) =>
            {
                var request = await service.ReadRequestAsync();
                await service.WriteAsync(bytes(request.Id));
                code = await service.ReadResetAsync(request.Id);
                await service.AnswerAsync((await service.ReadRequestAsync()).Id);
            },
            async tunnel =>
            {
                await AssertNotWellAsync(tunnel, "GET");
                var (head, body) = await tunnel.ExchangeAsync("/");
                Assert.Equal((200, "well"), (head.StatusCode, body.Text()));
                Assert.Equal(1, tunnel.RawBackend.ConnectionsAccepted.Value);
            });
        Assert.Equal(expected, code);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_service_that_ends_each_connection_before_a_request_is_not_asked_without_end(bool saysGoodbye)
    {
        byte[] first = [.. Frame(4, 0, 0, []), .. saysGoodbye ? Frame(7, 0, 0, new byte[8]) : []];
        await TunnelFixture.RunAsync(
            async connection =>
            {
                // One write, so that the end is there before a request can be.
                await connection.WriteAsync(first);
                await connection.ShutdownSendAsync();
                await connection.ReadToEndAsync();
            },
            async tunnel =>
            {
                for (var i = 1; i <= 3; i++)
                {
                    await using var visitor = await tunnel.ConnectAsync();
                    await visitor.WriteAsync("GET / HTTP/1.1\r\nHost: web.localhost\r\n\r\n");

                    // A request may have got a place before the end was there.
                    var status = (await visitor.ReadHeadAsync()).StatusCode;
                    Assert.True(status == 503 || (status == 502 && !saysGoodbye), $"{status}");
                    Assert.InRange(tunnel.RawBackend.ConnectionsAccepted.Value, i, i * 8);
                }
            },
            new TunnelSetup { Agent = Http2Service.Prior });
    }

    [Fact]
    public async Task A_service_that_allows_no_request_for_a_while_gets_those_that_come_afterwards()
    {
        const int Tries = 3;
        var allows = false;
        await Http2Service.RunAsync(
            async (service, _) =>
            {
                if (Volatile.Read(ref allows))
                {
                    await service.WriteAsync(4, 0, 0, [0, 3, 0, 0, 0, 1]);
                    await service.AnswerAsync((await service.ReadRequestAsync()).Id);
                }
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.WriteAsync("GET / HTTP/1.1\r\nHost: web.localhost\r\n\r\n");
                var head = await visitor.ReadHeadAsync();
                Assert.Equal((503, "backend-busy"), (head.StatusCode, head["Tunnel2-Error"]));
                Assert.Equal(Tries, tunnel.RawBackend.ConnectionsAccepted.Value);

                Volatile.Write(ref allows, true);
                await using var next = await tunnel.ConnectAsync();
                await next.WriteAsync("GET / HTTP/1.1\r\nHost: web.localhost\r\n\r\n");
                Assert.Equal(200, (await next.ReadHeadAsync()).StatusCode);
                Assert.Equal(Tries + 1, tunnel.RawBackend.ConnectionsAccepted.Value);
            },
            [0, 3, 0, 0, 0, 0]);
    }

    [Fact]
    public Task Connections_on_which_a_service_allows_no_more_requests_make_room_for_others() => Http2Service.RunAsync(
        static async (service, _) =>
        {
            var request = await service.ReadRequestAsync();
            await service.WriteAsync([.. Frame(4, 0, 0, [0, 3, 0, 0, 0, 0]), .. Frame(1, 5, request.Id, _ok)]);
        },
        static async tunnel =>
        {
            for (var i = 1; i <= Http2LoopConnections.MaxConnections + 2; i++)
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.WriteAsync("GET / HTTP/1.1\r\nHost: web.localhost\r\n\r\n");
                Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
                Assert.Equal(i, tunnel.RawBackend.ConnectionsAccepted.Value);
            }
        });

    [Fact]
    public async Task Data_after_the_end_ends_the_connection()
    {
        var code = new TaskCompletionSource<uint>(TaskCreationOptions.RunContinuationsAsynchronously);
        await Http2Service.RunAsync(
            async (service, number) =>
            {
                var request = await service.ReadRequestAsync();
                if (number == 0)
                {
                    await service.WriteAsync(
                        [.. Frame(1, 4, request.Id, _ok), .. Frame(0, 1, request.Id, [1]), .. Frame(0, 0, request.Id, [2])]);
                    code.SetResult(await service.ReadGoAwayAsync());
                    return;
                }

                await service.AnswerAsync(request.Id);
            },
            async tunnel =>
            {
                var (head, body) = await tunnel.ExchangeAsync("/");
                Assert.Equal((200, 1), (head.StatusCode, body.Bytes.Length));
                Assert.Equal(5u, await code.Task.WaitAsync(AsyncCounter.DefaultTimeout));
                Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
            });
    }

    /// <summary>
    /// gRPC's library for C, also under Python, sends the trailers of a call that ends early after its reset, now and then.
    /// </summary>
    [Fact]
    public Task What_comes_for_a_stream_after_its_reset_is_dropped_and_the_connection_serves_on() => Http2Service.RunAsync(
        static async (service, _) =>
        {
            var first = await service.ReadRequestAsync();
            await service.ResetAsync(first.Id, 0);
            var second = await service.ReadRequestAsync();
            await service.WriteAsync([.. Frame(1, 4, first.Id, _ok), .. Frame(0, 0, first.Id, [1]), .. Frame(1, 5, first.Id, _ok)]);
            await service.AnswerAsync(second.Id);
        },
        static async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            Assert.Equal(502, (await visitor.ExchangeAsync("/", "web.localhost")).Head.StatusCode);
            Assert.Equal(200, (await visitor.ExchangeAsync("/", "web.localhost")).Head.StatusCode);
            Assert.Equal(1, tunnel.RawBackend.ConnectionsAccepted.Value);
        });

    [Fact]
    public async Task What_comes_for_a_stream_that_GOAWAY_has_refused_is_dropped_and_the_others_are_served()
    {
        var isServed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await Http2Service.RunAsync(
            async (service, number) =>
            {
                var first = await service.ReadRequestAsync();
                if (number > 0)
                {
                    await service.AnswerAsync(first.Id);
                    return;
                }

                var second = await service.ReadRequestAsync();
                byte[] late = [.. Frame(1, 4, second.Id, _ok), .. Frame(0, 0, second.Id, [1])];
                await service.WriteAsync([.. Frame(7, 0, 0, [.. Number((uint)first.Id), 0, 0, 0, 0]), .. late]);
                await isServed.Task;
                await service.WriteAsync(late);
                await service.AnswerAsync(first.Id);
            },
            async (visitor, _) =>
            {
                var first = visitor.ExchangeAsync(Http2Visitor.Request(isTls: false));
                var second = visitor.ExchangeAsync(Http2Visitor.Request(isTls: false));
                Assert.Equal(200, (await await Task.WhenAny(first, second)).Status);
                isServed.SetResult();
                Assert.Equal([200, 200], (await Task.WhenAll(first, second)).Select(static answer => answer.Status));
            });
    }

    /// <summary>gRPC for C and Python sends a second end where a call is cancelled just when its answer ends.</summary>
    [Fact]
    public async Task A_second_end_of_an_answer_is_dropped_and_the_others_are_served()
    {
        var isRead = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await Http2Service.RunAsync(
            async (service, number) =>
            {
                Assert.Equal(0, number);
                var first = await service.ReadRequestAsync();
                var second = await service.ReadRequestAsync();
                await service.WriteAsync([.. Frame(1, 5, first.Id, _ok), .. Frame(1, 5, first.Id, _ok)]);
                await isRead.Task;
                await service.WriteAsync(Frame(1, 5, first.Id, _ok));
                await service.AnswerAsync(second.Id);
            },
            async (visitor, _) =>
            {
                var first = visitor.ExchangeAsync(Http2Visitor.Request(isTls: false));
                var second = visitor.ExchangeAsync(Http2Visitor.Request(isTls: false));
                Assert.Equal(200, (await await Task.WhenAny(first, second)).Status);
                isRead.SetResult();
                Assert.Equal([200, 200], (await Task.WhenAll(first, second)).Select(static answer => answer.Status));
            });
    }

    [Theory]
    [InlineData(5, Many, 11)]
    [InlineData(4, 1, 5)]
    public async Task Many_ends_of_an_answer_or_a_head_without_one_end_the_connection(byte flags, int count, uint expected)
    {
        var code = new TaskCompletionSource<uint>(TaskCreationOptions.RunContinuationsAsynchronously);
        await Http2Service.RunAsync(
            async (service, number) =>
            {
                var request = await service.ReadRequestAsync();
                await service.WriteAsync(Frame(1, 5, request.Id, _ok));
                if (number == 0)
                {
                    await service.WriteAsync(Repeat(Frame(1, flags, request.Id, _ok), count));
                    code.SetResult(await service.ReadGoAwayAsync());
                }
            },
            async tunnel =>
            {
                Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
                Assert.Equal(expected, await code.Task.WaitAsync(AsyncCounter.DefaultTimeout));
                Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
            });
    }

    [Fact]
    public async Task More_bytes_than_the_window_of_a_stream_end_the_connection_and_others_are_served()
    {
        var code = new TaskCompletionSource<uint>(TaskCreationOptions.RunContinuationsAsynchronously);
        await Http2Service.RunAsync(
            async (service, number) =>
            {
                var request = await service.ReadRequestAsync();
                if (number == 0)
                {
                    await service.WriteAsync(Frame(1, 4, request.Id, _ok));
                    Http2Frame answer;
                    do
                    {
                        // An answer to PING says that all before it was taken.
                        await service.WriteAsync(
                            [.. Repeat(Frame(0, 0, request.Id, new byte[16 * 1024]), 16), .. Frame(6, 0, 0, new byte[8])]);
                        answer = await service.ReadUntilAsync(static frame => frame.Type is 6 or 7);
                    }
                    while (answer.Type != 7);
                    code.SetResult(BinaryPrimitives.ReadUInt32BigEndian(answer.Payload.AsSpan(4)));
                    return;
                }

                await service.AnswerAsync(request.Id);
            },
            async tunnel =>
            {
                // It reads nothing: what it does not take is never granted again.
                await using var visitor = await tunnel.ConnectAsync(receiveBufferSize: 4096);
                await visitor.WriteAsync("GET / HTTP/1.1\r\nHost: web.localhost\r\n\r\n");
                Assert.Equal(3u, await code.Task.WaitAsync(AsyncCounter.DefaultTimeout));
                Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
            });
    }

    [Fact]
    public Task A_service_that_resets_everything_at_once_costs_one_answer_each() => Http2Service.RunAsync(
        static async (service, _) =>
        {
            for (var i = 0; i < 300; i++)
            {
                await service.ResetAsync((await service.ReadRequestAsync()).Id, 8);
            }

            await service.AnswerAsync((await service.ReadRequestAsync()).Id);
        },
        static async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            for (var i = 0; i < 300; i++)
            {
                var (head, _) = await visitor.ExchangeAsync("/", "web.localhost");
                Assert.Equal(502, head.StatusCode);
            }

            Assert.Equal(200, (await visitor.ExchangeAsync("/", "web.localhost")).Head.StatusCode);
            Assert.Equal(1, tunnel.RawBackend.ConnectionsAccepted.Value);
        });

    /// <summary>The visitor gets an error, or where the answer had begun an end that is none.</summary>
    private static async Task AssertNotWellAsync(TunnelFixture tunnel, string method)
    {
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.WriteAsync($"{method} / HTTP/1.1\r\nHost: web.localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        var answer = Encoding.Latin1.GetString(await visitor.ReadToEndAsync());
        Assert.DoesNotContain("\r\n0\r\n\r\n", answer, StringComparison.Ordinal);
        Assert.True(
            answer.Contains("HTTP/1.1 502 ", StringComparison.Ordinal) || answer.Contains("HTTP/1.1 200 ", StringComparison.Ordinal),
            answer);
    }

    private static byte[] Head(int id, params (string Name, string Value)[] fields) => Frame(1, 4, id, PlainHpack.Encode(fields));

    private static byte[] Repeat(byte[] bytes, int count) => [.. Enumerable.Repeat(bytes, count).SelectMany(static one => one)];

    /// <summary>One field of four thousand bytes, added to the table, and then ten thousand times its index.</summary>
    private static byte[] Bomb() =>
    [
        0x88, 0x40, 1, (byte)'a', 0x7f, 0xa1, 0x1e, .. Enumerable.Repeat((byte)'b', 4000), .. Enumerable.Repeat((byte)0xbe, 10_000),
    ];
}
