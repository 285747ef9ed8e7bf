using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>
/// What the front for HTTP/1.1 refuses, over real sockets: each time one answer of the contract, then the end, and nothing reaches a
/// backend.
/// </summary>
public sealed class RefusalTests
{
    private const string H = "Host: web.localhost\r\n";

    public static TheoryData<string, int, string> Requests => new()
    {
        // Lines.
        { "GET / HTTP/1.1\n" + H + "\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "X: a\nY: b\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "X: a\rb\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "X: a\r\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "X: a\r\n b\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "X: a\r\n\tb\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n X: y\r\n" + H + "\r\n", 400, "bad-request" },
        { "\r\n\r\nGET / HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "\nGET / HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { " GET / HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },

        // Request line.
        { "GET  / HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET /  HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET\t/\tHTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET /a b HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1 \r\n" + H + "\r\n", 400, "bad-request" },
        { "GET /\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.10\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET / HTTP/1.01\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET / http/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET / HTTP/2.0\r\n" + H + "\r\n", 505, "version-not-supported" },
        { "GET / HTTP/3.0\r\n" + H + "\r\n", 505, "version-not-supported" },
        { "GET / HTTP/0.9\r\n" + H + "\r\n", 505, "version-not-supported" },
        { "G@T / HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET /#top HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET /a?b#c HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET /a\\..\\b HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET /\u00e9 HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET /\u0001 HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET a HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET * HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET ftp://web.localhost/ HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "GET http://u:p@web.localhost/ HTTP/1.1\r\n" + H + "\r\n", 400, "bad-request" },
        { "CONNECT web.localhost:80 HTTP/1.1\r\n" + H + "\r\n", 501, "method-not-supported" },
        { "TRACE / HTTP/1.1\r\n" + H + "Content-Length: 1\r\n\r\nx", 400, "bad-request" },

        // Host.
        { "GET / HTTP/1.1\r\n\r\n", 400, "invalid-host" },
        { "GET / HTTP/1.1\r\nHost: \r\n\r\n", 400, "invalid-host" },
        { "GET / HTTP/1.1\r\n" + H + H + "\r\n", 400, "invalid-host" },
        { "GET / HTTP/1.1\r\n" + H + "host: other.localhost\r\n\r\n", 400, "invalid-host" },
        { "GET / HTTP/1.1\r\nHost: web.localhost, web.localhost\r\n\r\n", 400, "invalid-host" },
        { "GET / HTTP/1.1\r\nHost: web.localhost/x\r\n\r\n", 400, "invalid-host" },
        { "GET / HTTP/1.1\r\nHost: u@web.localhost\r\n\r\n", 400, "invalid-host" },
        { "GET / HTTP/1.1\r\nHost: web.localhost:80x\r\n\r\n", 400, "invalid-host" },
        { "GET / HTTP/1.1\r\nHost: web.localhost:99999\r\n\r\n", 400, "invalid-host" },
        { "GET / HTTP/1.1\r\nHost: web%2elocalhost\r\n\r\n", 400, "invalid-host" },
        { "GET http://web.localhost/ HTTP/1.1\r\nHost: other.localhost\r\n\r\n", 400, "invalid-host" },
        { "GET http://web.localhost:80/ HTTP/1.1\r\n" + H + "\r\n", 400, "invalid-host" },

        // Fields.
        { "GET / HTTP/1.1\r\n" + H + "X : y\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "X\t: y\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "X y: z\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + ": y\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "X\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "X(: y\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "X: a\0b\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "X: a\u0007b\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "X: a\u007fb\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "\u00e9: b\r\n\r\n", 400, "bad-request" },
        { "GET / HTTP/1.1\r\n" + H + "Connection: a b\r\n\r\n", 400, "bad-request" },

        // Lengths.
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: +1\r\n\r\nx", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: -1\r\n\r\nx", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: 0x1\r\n\r\nx", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: 01\r\n\r\nx", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: 1 1\r\n\r\nx", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: 1, 1\r\n\r\nx", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: 1, 2\r\n\r\nx", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: \r\n\r\nx", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: 1.0\r\n\r\nx", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: 99999999999999999999\r\n\r\nx", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: 1\r\nCONTENT-LENGTH: 2\r\n\r\nxy", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Content_Length: 1\r\n\r\nx", 400, "bad-request" },

        // Transfer codings.
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Transfer-Encoding: \r\n\r\n0\r\n\r\n", 400, "bad-request" },
        { "POST / HTTP/1.1\r\n" + H + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, "transfer-coding-not-supported" },
        { "POST / HTTP/1.1\r\n" + H + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501, "transfer-coding-not-supported" },
        { "POST / HTTP/1.1\r\n" + H + "Transfer_Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "bad-request" },
        { "POST / HTTP/1.0\r\n" + H + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "bad-request" },

        // Sizes.
        { "GET /" + new string('x', 17_000) + " HTTP/1.1\r\n" + H + "\r\n", 414, "request-target-too-long" },
        { "GET / HTTP/1.1\r\n" + H + "X: " + new string('x', 66_000) + "\r\n\r\n", 431, "request-head-too-large" },
        { "GET / HTTP/1.1\r\n" + H + string.Concat(Enumerable.Repeat("X: y\r\n", 201)) + "\r\n", 431, "request-head-too-large" },
        { "POST / HTTP/1.1\r\n" + H + "Content-Length: 1000001\r\n\r\n", 413, "request-body-too-large" },
    };

    /// <summary>Bodies that break off in their coding, after a head that was fine.</summary>
    public static TheoryData<string> Chunks =>
    [
        "x\r\n", "-1\r\n", "+1\r\nx\r\n0\r\n\r\n", "0x1\r\nx\r\n0\r\n\r\n", " 1\r\nx\r\n", "1 \r\nx\r\n0\r\n\r\n", "1\nx\n0\n\n",
        "1\r\nx\n0\r\n\r\n", "1\r\nxx\r\n0\r\n\r\n", "\r\n", "ffffffffffffffff\r\n", "10000000000000000\r\n", "00000000000000001\r\nx",
        "1;\r\nx", "1;a b\r\nx", "1;a=\"\n\"\r\nx", "1;" + new string('a', 2000) + "\r\nx", "1\r\nx\r\n0\r\nX : y\r\n\r\n",
        "0\r\nHost: evil\r\n\r\n", "0\r\nContent-Length: 1\r\n\r\n", "0\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\nX: a\0\r\n\r\n",
        "0\r\n folded: x\r\n\r\n", "0\r\nX: a\n\r\n",
    ];

    [Theory]
    [MemberData(nameof(Requests))]
    public async Task A_request_that_breaks_a_rule_gets_its_answer_and_the_connection_ends(string request, int status, string code)
    {
        await using var entry = await EntryFixture.StartAsync(null, "Limits:RequestBodyBytes=1000000");
        foreach (var piece in request.Length < 300 ? new[] { int.MaxValue, 1 } : [int.MaxValue])
        {
            await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
            await SendAsync(visitor, request + "GET /smuggled HTTP/1.1\r\nHost: web.localhost\r\n\r\n", piece);
            var head = await visitor.ReadHeadAsync();
            Assert.Equal((status, code), (head.StatusCode, head["Tunnel2-Error"]));
            Assert.Equal(["close"], head.All("Connection"));
            Assert.StartsWith("Tunnel2; error=http_request_error", head["Proxy-Status"], StringComparison.Ordinal);
            Assert.Equal("application/problem+json", head["Content-Type"]);
            var body = await visitor.ReadBodyAsync(head);
            Assert.Equal(ConnectionEnding.Complete, body.Ending);
            Assert.Contains($"\"status\": {status}", body.Text, StringComparison.Ordinal);
            Assert.Empty(await visitor.ReadToEndAsync());
            Assert.Equal(ConnectionEnding.Fin, visitor.Ending);
        }
    }

    [Theory]
    [MemberData(nameof(Chunks))]
    public Task A_body_whose_coding_breaks_is_refused_and_never_whole_for_the_backend(string rest) => TunnelFixture.RunAsync(
        async connection =>
        {
            var body = await connection.ReadBodyAsync(await connection.ReadHeadAsync());
            Assert.NotEqual(ConnectionEnding.Complete, body.Ending);
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync($"POST / HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n{rest}");
            var head = await visitor.ReadHeadAsync();
            Assert.Equal((400, "bad-request"), (head.StatusCode, head["Tunnel2-Error"]));
            await visitor.ReadBodyAsync(head);
            Assert.Empty(await visitor.ReadToEndAsync());
        });

    [Fact]
    public Task A_body_beyond_the_limit_is_refused_while_it_comes() => TunnelFixture.RunAsync(
        async connection =>
        {
            var body = await connection.ReadBodyAsync(await connection.ReadHeadAsync());
            Assert.NotEqual(ConnectionEnding.Complete, body.Ending);
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync(
                $"POST / HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\n400\r\n{new string('x', 0x400)}\r\n400\r\n"
                    + $"{new string('x', 0x400)}\r\n0\r\n\r\n");
            var head = await visitor.ReadHeadAsync();
            Assert.Equal((413, "request-body-too-large"), (head.StatusCode, head["Tunnel2-Error"]));
        },
        new TunnelSetup { Settings = ["Limits:RequestBodyBytes=2000"] });

    [Fact]
    public async Task A_person_gets_a_page()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.WriteAsync("GET / HTTP/1.1\r\nAccept: text/html,*/*;q=0.8\r\nHost: web.localhost\r\nX : y\r\n\r\n");
        var head = await visitor.ReadHeadAsync();
        Assert.Equal("text/html; charset=utf-8", head["Content-Type"]);
        Assert.StartsWith("<!doctype html>", (await visitor.ReadBodyAsync(head)).Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_answer_is_not_lost_to_what_the_visitor_continues_sending()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        var block = new byte[64 * 1024];
        await visitor.WriteAsync($"POST / HTTP/1.1\r\n{H}Transfer-Encoding: gzip\r\n\r\n");
        for (var i = 0; i < 16; i++)
        {
            await visitor.WriteAsync(block);
        }

        var head = await visitor.ReadHeadAsync();
        Assert.Equal(501, head.StatusCode);
        Assert.Equal(ConnectionEnding.Complete, (await visitor.ReadBodyAsync(head)).Ending);
    }

    [Fact]
    public async Task A_limit_of_its_own_holds_for_each_part_of_a_head()
    {
        await using var entry = await EntryFixture.StartAsync(
            null, "Limits:RequestHeadBytes=2000", "Limits:RequestLineBytes=300", "Timeouts:Park=100ms");
        foreach (var (request, status) in new[]
        {
            ($"GET /{new string('x', 280)} HTTP/1.1\r\n{H}\r\n", 503), ($"GET /{new string('x', 290)} HTTP/1.1\r\n{H}\r\n", 414),
            ($"GET / HTTP/1.1\r\n{H}X: {new string('x', 1900)}\r\n\r\n", 503),
            ($"GET / HTTP/1.1\r\n{H}X: {new string('x', 2000)}\r\n\r\n", 431),
            ($"GET / HTTP/1.1\r\n{H}{string.Concat(Enumerable.Repeat("X: y\r\n", 199))}\r\n", 503),
            ($"GET / HTTP/1.1\r\n{H}{string.Concat(Enumerable.Repeat("X: y\r\n", 200))}\r\n", 431),
        })
        {
            await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
            await visitor.WriteAsync(request);
            Assert.Equal(status, (await visitor.ReadHeadAsync()).StatusCode);
        }
    }

    private static async Task SendAsync(RawHttpClient visitor, string request, int piece)
    {
        try
        {
            var bytes = Encoding.Latin1.GetBytes(request);
            for (var i = 0; i < bytes.Length; i += Math.Min(piece, bytes.Length))
            {
                await visitor.WriteAsync(bytes.AsMemory(i, Math.Min(piece, bytes.Length - i)));
            }
        }
        catch (IOException)
        {
            // The end may come while bytes are still being sent; the answer is there all the same.
        }
    }
}
