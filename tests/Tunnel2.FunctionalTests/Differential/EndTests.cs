using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.FunctionalTests.Http2Backends;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>
/// How an exchange ends for the visitor where the service ends it out of order; the rows are those of docs/conformance.md.
/// </summary>
public sealed class EndTests
{
    private const string Chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n";
    private const string None = "–";
    private const string Broken = "502 backend-protocol";
    private const string TooLarge = "502 backend-head-too-large";
    private const string Declared = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\none";

    private static readonly EndCase[] _cases =
    [
        new("it closes before it answers", ["502 backend-closed", "502 backend-closed", "502 backend-closed", "502 backend-closed"])
        {
            Http1 = static connection => connection.CloseAsync(),
            Http2 = static (service, _) => service.CloseAsync(),
        },
        new("it closes in a body of declared length", ["200, cut", "200, cut", "200, RST_STREAM 2", "200, RST_STREAM 2"])
        {
            Http1 = static connection => connection.WriteAsync(Declared),
            Http1End = static connection => connection.CloseAsync(),
            Http2 = static async (service, id) =>
            {
                await service.RespondAsync(id, end: false, (":status", "200"), ("content-length", "10"));
                await service.WriteAsync(0, 0, id, "one"u8.ToArray());
            },
            Http2End = static (service, _) => service.CloseAsync(),
        },
        new("it closes in a body of no declared length", ["200, cut", "200, cut", "200, RST_STREAM 2", "200, RST_STREAM 2"])
        {
            Http1 = static connection => connection.WriteAsync(Chunked),
            Http1End = static connection => connection.CloseAsync(),
            Http2 = static async (service, id) =>
            {
                await service.RespondAsync(id, end: false, (":status", "200"));
                await service.WriteAsync(0, 0, id, "one"u8.ToArray());
            },
            Http2End = static (service, _) => service.CloseAsync(),
        },
        new("it resets in a body (HTTP/2: with ENHANCE_YOUR_CALM)", ["200, cut", "200, cut", "200, RST_STREAM 2", "200, RST_STREAM 11"])
        {
            Http1 = static connection => connection.WriteAsync(Chunked),
            Http1End = static connection =>
            {
                connection.Reset();
                return Task.CompletedTask;
            },
            Http2 = static async (service, id) =>
            {
                await service.RespondAsync(id, end: false, (":status", "200"));
                await service.WriteAsync(0, 0, id, "one"u8.ToArray());
            },
            Http2End = static (service, id) => service.ResetAsync(id, 11),
        },
        new(
            "it resets before it answers (HTTP/2: with INTERNAL_ERROR)",
            ["502 backend-closed", "502 backend-protocol", "502 backend-closed", "502 backend-protocol"])
        {
            Http1 = static connection =>
            {
                connection.Reset();
                return Task.CompletedTask;
            },
            Http2 = static (service, id) => service.ResetAsync(id, 2),
        },
        new("its answer is not HTTP", ["502 backend-protocol", "502 backend-protocol", "502 backend-protocol", "502 backend-protocol"])
        {
            Http1 = static connection => connection.WriteAsync("HTTP/1.1 OK\r\n\r\n"),
            Http2 = static (service, id) => service.RespondAsync(id, end: true, ("a", "b")),
        },
        new(
            "it answers 101 without being asked",
            ["502 backend-protocol", "502 backend-protocol", "502 backend-protocol", "502 backend-protocol"])
        {
            Http1 = static connection => connection.WriteAsync(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
            Http2 = static (service, id) => service.RespondAsync(id, end: false, (":status", "101")),
        },
        new("it declares two lengths", [Broken, Broken, Broken, Broken])
        {
            Http1 = static connection => connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
            Http2 = static (service, id) => service.RespondAsync(
                id, end: false, (":status", "200"), ("content-length", "1"), ("content-length", "2")),
        },
        new("its head is larger than the limit", [TooLarge, TooLarge, TooLarge, TooLarge])
        {
            Http1 = static connection => connection.WriteAsync($"HTTP/1.1 200 OK\r\nX-A: {new string('a', 70_000)}\r\n\r\n"),
            Http2 = static (service, id) => service.RespondAsync(
                id, end: true, [(":status", "200"), .. Enumerable.Range(0, 201).Select(static i => ($"x-{i}", "1"))]),
        },
        new("a control character in a field", [Broken, Broken, Broken, Broken])
        {
            Http1 = static connection => connection.WriteAsync("HTTP/1.1 200 OK\r\nX-A: b\0\r\nContent-Length: 0\r\n\r\n"),
            Http2 = static (service, id) => service.RespondAsync(id, end: true, (":status", "200"), ("x-a", "b\0")),
        },
        new("a chunk without a size, in one piece with the head", [Broken, None, Broken, None])
        {
            Http1 = static connection => connection.WriteAsync(Chunked + "x\r\n"),
        },
        new("a chunk without a size", ["200, cut", None, "200, RST_STREAM 2", None])
        {
            Http1 = static connection => connection.WriteAsync(Chunked),
            Http1End = static connection => connection.WriteAsync("x\r\n"),
        },
        new("less than it declared, and an end", [None, "200, cut", None, "200, RST_STREAM 2"])
        {
            Http2 = static async (service, id) =>
            {
                await service.RespondAsync(id, end: false, (":status", "200"), ("content-length", "10"));
                await service.WriteAsync(0, 0, id, "one"u8.ToArray());
            },
            Http2End = static (service, id) => service.WriteAsync(0, 1, id, []),
        },
        new("more than it declared", ["200", "200, cut", "200", "200, RST_STREAM 2"])
        {
            Http1 = static connection => connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nonetwo"),
            Http2 = static async (service, id) =>
            {
                await service.RespondAsync(id, end: false, (":status", "200"), ("content-length", "4"));
                await service.WriteAsync(0, 0, id, "one"u8.ToArray());
            },
            Http2End = static (service, id) => service.WriteAsync(0, 1, id, "two"u8.ToArray()),
        },
        new("a length in its trailers, in one piece with the head", [Broken, None, Broken, None])
        {
            Http1 = static connection => connection.WriteAsync(Chunked + "0\r\nContent-Length: 3\r\n\r\n"),
        },
        new("a length in its trailers", ["200, cut", "200, cut", "200, RST_STREAM 2", "200, RST_STREAM 2"])
        {
            Http1 = static connection => connection.WriteAsync(Chunked),
            Http1End = static connection => connection.WriteAsync("0\r\nContent-Length: 3\r\n\r\n"),
            Http2 = static async (service, id) =>
            {
                await service.RespondAsync(id, end: false, (":status", "200"));
                await service.WriteAsync(0, 0, id, "one"u8.ToArray());
            },
            Http2End = static (service, id) => service.RespondAsync(id, end: true, ("content-length", "3")),
        },
        new("it refuses the request by REFUSED_STREAM", [None, "503 backend-busy", None, "503 backend-busy"])
        {
            Http2 = static async (service, id) =>
            {
                try
                {
                    while (true)
                    {
                        await service.ResetAsync(id, 7);
                        id = (await service.ReadRequestAsync()).Id;
                    }
                }
                catch (RawConnectionEndedException)
                {
                    // The test is over.
                }
            },
        },
        new("it leaves the request out by GOAWAY", [None, "503 backend-busy", None, "503 backend-busy"])
        {
            Http2 = static (service, _) => service.WriteAsync(7, 0, 0, new byte[8]),
        },
        new("it leaves the request out by GOAWAY, in a body", [None, "200, cut", None, "200, RST_STREAM 2"])
        {
            Http2 = static async (service, id) =>
            {
                await service.RespondAsync(id, end: false, (":status", "200"));
                await service.WriteAsync(0, 0, id, "one"u8.ToArray());
            },
            Http2End = static (service, _) => service.WriteAsync(7, 0, 0, new byte[8]),
        },
        new("GOAWAY in a body, and then the rest of it", [None, "200", None, "200"])
        {
            Http2 = static async (service, id) =>
            {
                await service.RespondAsync(id, end: false, (":status", "200"));
                await service.WriteAsync(7, 0, 0, [.. Http2ServiceConnection.Number((uint)id), 0, 0, 0, 0]);
                await service.WriteAsync(0, 1, id, "one"u8.ToArray());
            },
        },
        new("it resets with HTTP_1_1_REQUIRED in a body", [None, "200, cut", None, "200, RST_STREAM 2"])
        {
            Http2 = static async (service, id) =>
            {
                await service.RespondAsync(id, end: false, (":status", "200"));
                await service.WriteAsync(0, 0, id, "one"u8.ToArray());
            },
            Http2End = static (service, id) => service.ResetAsync(id, 13),
        },
        new("17 interim responses: 16 pass", ["16 interim, 200", "16 interim, 200", "16 interim, 200", "16 interim, 200"])
        {
            Http1 = static connection => connection.WriteAsync(
                string.Concat(Enumerable.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 17))
                    + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            Http2 = static async (service, id) =>
            {
                for (var i = 0; i < 17; i++)
                {
                    await service.RespondAsync(id, end: false, (":status", "103"));
                }

                await service.RespondAsync(id, end: true, (":status", "200"));
            },
        },
    ];

    public static TheoryData<string, string> Cases =>
    [
        .. _cases.SelectMany(static one => Pair.All
            .Where((_, i) => one.Ends[i] != None)
            .Select(pair => (one.What, pair.ToString()))),
    ];

    /// <summary>The rows of the document.</summary>
    internal static IEnumerable<string> Rows => _cases.Select(static one => $"| {one.What} | {string.Join(" | ", one.Ends)} |");

    [Theory]
    [MemberData(nameof(Cases))]
    public Task The_visitor_learns_it(string what, string name)
    {
        var pair = Pair.Of(name);
        var one = _cases.Single(one => one.What == what);
        var begun = new WaitSignal("the visitor has the answer's head");
        return TunnelFixture.RunAsync(
            pair.ServiceIsHttp2
                ? Http2ServiceConnection.Serving(async (service, _) =>
                {
                    var id = (await service.ReadRequestAsync()).Id;
                    await one.Http2!(service, id);
                    if (one.Http2End is { } end)
                    {
                        await begun.WaitAsync();
                        await end(service, id);
                    }
                })
                : async connection =>
                {
                    await connection.ReadHeadAsync();
                    await one.Http1!(connection);
                    if (one.Http1End is { } end)
                    {
                        await begun.WaitAsync();
                        await end(connection);
                    }

                    await connection.WaitForEndAsync();
                },
            async tunnel => Assert.Equal(
                one.Ends[Array.IndexOf(Pair.All, pair)],
                pair.VisitorIsHttp2 ? await VisitByHttp2Async(tunnel, begun) : await VisitByHttp1Async(tunnel, begun)),
            new TunnelSetup { Agent = pair.ServiceIsHttp2 ? Http2Service.Prior : static options => options });
    }

    [Fact]
    public Task A_request_is_not_sent_again_once_its_answer_has_begun()
    {
        var requests = 0;
        var begun = new WaitSignal("the visitor has the answer's head");
        return Http2Service.RunAsync(
            async (service, _) =>
            {
                var request = await service.ReadRequestAsync();
                Interlocked.Increment(ref requests);
                await service.RespondAsync(request.Id, end: false, (":status", "200"));
                await service.WriteAsync(0, 0, request.Id, "one"u8.ToArray());
                await begun.WaitAsync();
                await service.WriteAsync(7, 0, 0, new byte[8]);
            },
            async (visitor, tunnel) =>
            {
                var stream = await visitor.OpenAsync(Http2Visitor.Request(isTls: false), end: true);
                await stream.ReadHeadAsync();
                begun.Set();
                var answer = await stream.ReadWholeAsync();
                Assert.Equal((200, 2), (answer.Status, answer.Reset));
                Assert.Equal(1, Volatile.Read(ref requests));
                Assert.Equal(1, tunnel.RawBackend.ConnectionsAccepted.Value);
            });
    }

    [Fact]
    public Task A_gRPC_answer_that_is_cut_ends_with_a_status() => CutGrpcAsync(new WaitSignal("the visitor has the answer's head"));

    private static Task CutGrpcAsync(WaitSignal begun) => Http2Service.RunAsync(
        async (service, _) =>
        {
            var request = await service.ReadRequestAsync();
            await service.RespondAsync(request.Id, end: false, (":status", "200"), ("content-type", "application/grpc"));
            await service.WriteAsync(0, 0, request.Id, [0, 0, 0, 0, 1, 7]);
            await begun.WaitAsync();
            await service.CloseAsync();
        },
        async (visitor, _) =>
        {
            var stream = await visitor.OpenAsync(
                Http2Visitor.Request(isTls: false, method: "POST", fields: ("content-type", "application/grpc")));
            await stream.ReadHeadAsync();
            begun.Set();
            var answer = await stream.ReadWholeAsync();
            Assert.Equal((200, "\0\0\0\0\u0001\a", (int?)null), (answer.Status, answer.Body, answer.Reset));
            Assert.Equal(
                ("14", "backend: The service closed the connection (backend-closed)"), (answer["grpc-status"], answer["grpc-message"]));
        });

    private static async Task<string> VisitByHttp1Async(TunnelFixture tunnel, WaitSignal begun)
    {
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.WriteAsync("POST / HTTP/1.1\r\nHost: web.localhost\r\nContent-Length: 0\r\n\r\n");
        var head = await visitor.ReadHeadAsync();
        var interims = 0;
        for (; head.StatusCode == 103; interims++)
        {
            head = await visitor.ReadHeadAsync();
        }

        begun.Set();
        var body = await visitor.ReadBodyAsync(head, "POST");
        return head["Tunnel2-Error"] is { } error ? $"{head.StatusCode} {error}"
            : body.Ending == ConnectionEnding.Complete ? Passed(interims, head.StatusCode)
            : $"{head.StatusCode}, cut";
    }

    private static async Task<string> VisitByHttp2Async(TunnelFixture tunnel, WaitSignal begun)
    {
        await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
        var stream = await visitor.OpenAsync(
            Http2Visitor.Request(isTls: false, method: "POST", fields: ("content-length", "0")), end: true);
        await stream.ReadHeadAsync();
        begun.Set();
        var answer = await stream.ReadWholeAsync();
        return answer["tunnel2-error"] is { } error ? $"{answer.Status} {error}"
            : answer.Reset is { } code ? $"{answer.Status}, RST_STREAM {code}"
            : Passed(stream.Interims.Count, answer.Status);
    }

    private static string Passed(int interims, int status) => interims == 0 ? $"{status}" : $"{interims} interim, {status}";

    /// <summary>What the service does, in either version, and what each pair's visitor sees of it.</summary>
    private sealed record EndCase(string What, string[] Ends)
    {
        public Func<RawConnection, Task>? Http1 { get; init; }

        public Func<Http2ServiceConnection, int, Task>? Http2 { get; init; }

        /// <summary>What it does when the visitor has the answer's head; null: nothing more.</summary>
        public Func<RawConnection, Task>? Http1End { get; init; }

        /// <summary>The same in HTTP/2.</summary>
        public Func<Http2ServiceConnection, int, Task>? Http2End { get; init; }
    }
}
