using System.Globalization;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.FunctionalTests.Http2Backends;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>
/// What a service sees of a visitor that ends its request out of order, and what the visitor gets; the rows are those of
/// docs/conformance.md.
/// </summary>
public sealed class VisitorEndTests
{
    private const string Closed = "closed";
    private const string Cancel = "RST_STREAM 8";
    private const string None = "–";
    private const string Head = "POST / HTTP/1.1\r\nHost: web.localhost\r\n";
    private const string Chunked = Head + "Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n";
    private const string Declared = Head + "Content-Length: 10\r\n\r\none";

    private static readonly EndCase[] _cases =
    [
        new("its connection breaks before the answer", [Closed, Cancel, Closed, Cancel])
        {
            Http1 = static (visitor, arrived) => BreakAsync(visitor, arrived, Head + "Content-Length: 0\r\n\r\n"),
            Http2 = static async (visitor, arrived) =>
            {
                await visitor.OpenAsync(Request("0"), end: true);
                await arrived.WaitAsync();
                await visitor.DisposeAsync();
                return null;
            },
        },
        new("its connection breaks in a body of declared length", [Closed, Cancel, Closed, Cancel])
        {
            Http1 = static (visitor, arrived) => BreakAsync(visitor, arrived, Declared),
            Http2 = static (visitor, arrived) => BreakAsync(visitor, arrived, Request("10")),
        },
        new("its connection breaks in a body of no declared length", [Closed, Cancel, Closed, Cancel])
        {
            Http1 = static (visitor, arrived) => BreakAsync(visitor, arrived, Chunked),
            Http2 = static (visitor, arrived) => BreakAsync(visitor, arrived, Request(null)),
        },
        new("its connection breaks in the answer", [Closed, Cancel, Closed, Cancel])
        {
            Answers = true,
            Http1 = static (visitor, arrived) => BreakAsync(visitor, arrived, Head + "Content-Length: 0\r\n\r\n"),
            Http2 = static async (visitor, arrived) =>
            {
                var stream = await visitor.OpenAsync(Request("0"), end: true);
                await arrived.WaitAsync();
                await stream.ReadHeadAsync();
                await visitor.DisposeAsync();
                return null;
            },
        },
        new("it resets its stream with ENHANCE_YOUR_CALM", [None, None, Closed, "RST_STREAM 11"])
        {
            Http2 = static async (visitor, arrived) =>
            {
                var stream = await visitor.OpenAsync(Request(null));
                await arrived.WaitAsync();
                await stream.ResetAsync(11);
                return null;
            },
        },
        new(
            "it ends its direction in a body of declared length",
            [Closed, Cancel, "closed, RST_STREAM 1", "RST_STREAM 8, RST_STREAM 1"])
        {
            Http1 = static (visitor, arrived) => EndAsync(visitor, arrived, Declared),
            Http2 = static async (visitor, arrived) =>
            {
                var stream = await visitor.OpenAsync(Request("10"));
                await arrived.WaitAsync();
                await stream.WriteAsync("one"u8.ToArray(), end: true);
                return await SeenAsync(stream);
            },
        },
        new("it ends its direction in a body of no declared length", [Closed, Cancel, None, None])
        {
            Http1 = static (visitor, arrived) => EndAsync(visitor, arrived, Chunked),
        },
        new("it sends a chunk without a size", ["closed, 400", "RST_STREAM 8, 400", None, None])
        {
            Http1 = static (visitor, arrived) => GoOnAsync(visitor, arrived, Chunked, "x\r\n"),
        },
        new("it sends more than it declared", [None, None, "closed, RST_STREAM 1", "RST_STREAM 8, RST_STREAM 1"])
        {
            Http2 = static async (visitor, arrived) =>
            {
                var stream = await visitor.OpenAsync(Request("2"));
                await arrived.WaitAsync();
                await stream.WriteAsync("one"u8.ToArray(), end: true);
                return await SeenAsync(stream);
            },
        },
        new("it sends a length in its trailers", ["closed, 400", "RST_STREAM 8, 400", "closed, 400", "RST_STREAM 8, 400"])
        {
            Http1 = static (visitor, arrived) => GoOnAsync(visitor, arrived, Chunked, "0\r\nContent-Length: 3\r\n\r\n"),
            Http2 = static async (visitor, arrived) =>
            {
                var stream = await visitor.OpenAsync(Request(null));
                await stream.WriteAsync("one"u8.ToArray());
                await arrived.WaitAsync();
                await visitor.SendTrailersAsync(stream, [("content-length", "3")]);
                return await SeenAsync(stream);
            },
        },
    ];

    public static TheoryData<string, string> Cases =>
    [
        .. _cases.SelectMany(static one => Pair.All.Where((_, i) => one.Ends[i] != None).Select(pair => (one.What, pair.ToString()))),
    ];

    /// <summary>The rows of the document.</summary>
    internal static IEnumerable<string> Rows => _cases.Select(static one => $"| {one.What} | {string.Join(" | ", one.Ends)} |");

    [Theory]
    [MemberData(nameof(Cases))]
    public Task The_service_learns_it(string what, string name)
    {
        var pair = Pair.Of(name);
        var one = _cases.Single(one => one.What == what);
        var arrived = new WaitSignal("the request arrived");
        var seen = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        return TunnelFixture.RunAsync(
            pair.ServiceIsHttp2
                ? Http2ServiceConnection.Serving(async (service, _) =>
                {
                    var id = (await service.ReadRequestAsync()).Id;
                    if (one.Answers)
                    {
                        await service.RespondAsync(id, end: false, (":status", "200"));
                    }

                    arrived.Set();
                    seen.TrySetResult($"RST_STREAM {await service.ReadResetAsync(id)}");
                })
                : async connection =>
                {
                    await connection.ReadHeadAsync();
                    if (one.Answers)
                    {
                        await connection.WriteAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
                    }

                    arrived.Set();
                    await connection.WaitForEndAsync();
                    seen.TrySetResult(Closed);
                },
            async tunnel =>
            {
                string? told;
                if (pair.VisitorIsHttp2)
                {
                    await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
                    told = await one.Http2!(visitor, arrived);
                }
                else
                {
                    await using var visitor = await tunnel.ConnectAsync();
                    told = await one.Http1!(visitor, arrived);
                }

                var end = await seen.Task.WaitAsync(AsyncCounter.DefaultTimeout);
                Assert.Equal(one.Ends[Array.IndexOf(Pair.All, pair)], told is null ? end : $"{end}, {told}");
            },
            new TunnelSetup { Agent = pair.ServiceIsHttp2 ? Http2Service.Prior : static options => options });
    }

    private static (string Name, string Value)[] Request(string? length) => length is null
        ? Http2Visitor.Request(isTls: false, method: "POST")
        : Http2Visitor.Request(isTls: false, method: "POST", fields: ("content-length", length));

    private static async Task<string?> BreakAsync(RawConnection visitor, WaitSignal arrived, string request)
    {
        await visitor.WriteAsync(request);
        await arrived.WaitAsync();
        visitor.Reset();
        return null;
    }

    private static async Task<string?> BreakAsync(Http2Visitor visitor, WaitSignal arrived, (string Name, string Value)[] request)
    {
        var stream = await visitor.OpenAsync(request);
        await stream.WriteAsync("one"u8.ToArray());
        await arrived.WaitAsync();
        await visitor.DisposeAsync();
        return null;
    }

    /// <summary>Ends the visitor's direction in the middle of a body: it gets no answer.</summary>
    private static async Task<string?> EndAsync(RawConnection visitor, WaitSignal arrived, string request)
    {
        await visitor.WriteAsync(request);
        await arrived.WaitAsync();
        await visitor.ShutdownSendAsync();
        await visitor.WaitForEndAsync();
        return null;
    }

    /// <summary>Sends the rest when the service has the head, and reads what the visitor gets.</summary>
    private static async Task<string?> GoOnAsync(RawConnection visitor, WaitSignal arrived, string request, string rest)
    {
        await visitor.WriteAsync(request);
        await arrived.WaitAsync();
        await visitor.WriteAsync(rest);
        return (await visitor.ReadHeadAsync()).StatusCode.ToString(CultureInfo.InvariantCulture);
    }

    private static async Task<string?> SeenAsync(Http2VisitorStream stream)
    {
        var answer = await stream.ReadWholeAsync();
        return answer.Status != 0 ? $"{answer.Status}" : $"RST_STREAM {answer.Reset}";
    }

    /// <summary>What the visitor does, in either version, and what each pair's service sees of it.</summary>
    private sealed record EndCase(string What, string[] Ends)
    {
        /// <summary>Whether the service has begun its answer.</summary>
        public bool Answers { get; init; }

        public Func<RawConnection, WaitSignal, Task<string?>>? Http1 { get; init; }

        public Func<Http2Visitor, WaitSignal, Task<string?>>? Http2 { get; init; }
    }
}
