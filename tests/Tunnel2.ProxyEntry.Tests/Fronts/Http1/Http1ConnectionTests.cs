using System.IO.Pipelines;
using System.Text;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using static Tunnel2.ProxyEntry.Tests.Fronts.Http1.ScriptedForwarder;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Http1;

public sealed class Http1ConnectionTests
{
    private const string Date = "Date: Tue, 01 Jan 2030 00:00:00 GMT\r\n";

    [Fact]
    public async Task Order_case_and_duplicates_of_fields_reach_the_block()
    {
        await using var front = new FrontFixture(ShowBlock);
        await front.SendAsync("GET /a?b HTTP/1.1\r\nx-B: 1\r\nHost: web.localhost\r\nX-a:  2 \r\nX-B: 3\r\nX-a:\r\n\r\n");
        var answer = await front.ReceiveAsync("proto=http;by=_tunnel2\n");
        Assert.EndsWith(
            "\r\n\r\nGET http web.localhost /a?b\nx-B: 1\nHost: web.localhost\nX-a: 2\nX-B: 3\nX-a: \nX-Forwarded-For: 10.1.2.3\n"
                + "X-Forwarded-Host: web.localhost\n"
            + "X-Forwarded-Proto: http\nX-Forwarded-Port: 12000\nForwarded: for=10.1.2.3;host=\"web.localhost\";proto=http;by=_tunnel2\n",
            answer, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Connection: keep-alive, X-Private\r\nX-Private: 1\r\n", "")]
    [InlineData("Connection: close, X-Private\r\nX-PRIVATE: 1\r\nX-Kept: 2\r\n", "X-Kept: 2\n")]
    [InlineData("X-Private: 1\r\nConnection: x-private\r\n", "")]
    [InlineData(
        "Keep-Alive: timeout=5\r\nProxy-Connection: close\r\nProxy-Authorization: Basic x\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n", "")]
    [InlineData("TE: gzip\r\n", "")]
    [InlineData("Te: gzip, trailers;q=1\r\n", "")]
    [InlineData("Te: gzip , Trailers\r\nConnection: TE\r\n", "Te: trailers\n")]
    [InlineData("Trailer: X-Sum\r\n", "Trailer: X-Sum\n")]
    [InlineData("Connection: upgrade\r\nUpgrade: websocket\r\n", "Upgrade: websocket\n")]
    [InlineData("X-Forwarded-For: 1.1.1.1\r\nX_Forwarded_For: 2.2.2.2\r\nForwarded: for=x\r\nX-Real-IP: 3.3.3.3\r\n", "")]
    public async Task Fields_of_one_connection_end_at_it(string fields, string kept)
    {
        await using var front = new FrontFixture(ShowBlock);
        await front.SendAsync($"GET / HTTP/1.1\r\nHost: web.localhost\r\n{fields}\r\n");
        var answer = await front.ReceiveAsync("proto=http;by=_tunnel2\n");
        Assert.Contains($"\nHost: web.localhost\n{kept}X-Forwarded-For: 10.1.2.3\n", answer, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("GET http://WEB.localhost/x?y HTTP/1.1\r\nHost: web.localhost", "GET http web.localhost /x?y\n")]
    [InlineData("GET http://web.localhost HTTP/1.1\r\nHost: web.localhost", "GET http web.localhost /\n")]
    [InlineData("GET http://web.localhost?q HTTP/1.0", "GET http web.localhost /?q\n")]
    [InlineData("OPTIONS * HTTP/1.1\r\nHost: web.localhost", "OPTIONS http web.localhost *\n")]
    [InlineData("GET /%2e%2E//a HTTP/1.0\r\nHost: web.localhost:1", "GET http web.localhost:1 /%2e%2E//a\n")]
    [InlineData("\r\nPURGE / HTTP/1.1\r\nHost: web.localhost", "PURGE http web.localhost /\n")]
    public async Task Targets_of_every_form_become_host_and_path(string head, string expected)
    {
        await using var front = new FrontFixture(ShowBlock);
        await front.SendAsync(head + "\r\n\r\n");
        Assert.Contains("\r\n\r\n" + expected, await front.ReceiveAsync("proto=http;by=_tunnel2\n"), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(4096)]
    public async Task Pipelined_requests_are_answered_one_by_one_however_they_arrive(int piece)
    {
        await using var front = new FrontFixture(
            async (exchange, _) => Answer(exchange, exchange.Target + await ReadBodyAsync(exchange) + "\n"));
        var text = string.Concat(Enumerable.Range(0, 12).Select(static i => (i % 3) switch
        {
            0 => $"GET /{i} HTTP/1.1\r\nHost: h\r\nX: {new string('x', i * 700)}\r\n\r\n",
            1 => $"POST /{i} HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{i:00}",
            _ => $"POST /{i} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{i % 10}\r\n2;a=b\r\nxy\r\n0\r\nX-T: 1\r\n\r\n",
        }));
        var sending = Task.Run(async () =>
        {
            for (var i = 0; i < text.Length; i += piece)
            {
                await front.SendAsync(text.Substring(i, Math.Min(piece, text.Length - i)));
            }
        });
        var answers = await front.ReceiveAsync("/111xy\n");
        await sending;
        string[] bodies = [.. answers.Split('\n').Where(static line => line.StartsWith('/'))];
        Assert.Equal(["/0", "/101", "/22xy", "/3", "/404", "/55xy", "/6", "/707", "/88xy", "/9", "/1010", "/111xy"], bodies);
    }

    [Fact]
    public async Task A_response_keeps_its_fields_and_gets_what_it_lacks()
    {
        await using var front = new FrontFixture((exchange, _) =>
        {
            Start(
                exchange, 200, ("sErVer", "x"), ("A", "1"), ("B", "2"), ("A", "3"), ("Tunnel2-Error", "no"), ("Keep-Alive", "no"),
                ("Upgrade", "no"));
            exchange.WriteBody("hello"u8);
            exchange.WriteBody("!"u8);
            Trailers(exchange, ("X-Sum", "9"), ("Content-Length", "1"), ("Connection", "x"));
            exchange.CompleteResponse();
            return default;
        });
        await front.SendAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        Assert.Equal(
            $"HTTP/1.1 200 Fine\r\nsErVer: x\r\nA: 1\r\nB: 2\r\nA: 3\r\n{Date}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n"
                + $"0\r\nX-Sum: 9\r\n\r\n",
            await front.ReceiveAsync("X-Sum: 9\r\n\r\n"));
    }

    [Theory]
    [InlineData("GET", "1.1", "", 200, "Content-Length: 2", "Content-Length: 2\r\n{D}\r\nok", true)]
    [InlineData("GET", "1.1", "Connection: close", 200, "Content-Length: 2", "Content-Length: 2\r\n{D}Connection: close\r\n\r\nok", false)]
    [InlineData("GET", "1.0", "", 200, "Content-Length: 2", "Content-Length: 2\r\n{D}Connection: close\r\n\r\nok", false)]
    [InlineData(
        "GET", "1.0", "Connection: keep-alive", 200, "Content-Length: 2", "Content-Length: 2\r\n{D}Connection: keep-alive\r\n\r\nok", true)]
    [InlineData("GET", "1.0", "Connection: keep-alive", 200, "X: y", "X: y\r\n{D}Connection: close\r\n\r\nok", false)]
    [InlineData("HEAD", "1.1", "", 200, "Content-Length: 2", "Content-Length: 2\r\n{D}\r\n", true)]
    [InlineData("HEAD", "1.1", "", 200, "X: y", "X: y\r\n{D}\r\n", true)]
    [InlineData("GET", "1.1", "", 204, "Content-Length: 0", "{D}\r\n", true)]
    [InlineData("GET", "1.1", "", 304, "Content-Length: 7", "Content-Length: 7\r\n{D}\r\n", true)]
    [InlineData("GET", "1.1", "", 205, "Content-Length: 50", "{D}Content-Length: 0\r\n\r\n", true)]
    [InlineData("GET", "1.1", "", 205, "X: y", "X: y\r\n{D}Content-Length: 0\r\n\r\n", true)]
    [InlineData("GET", "1.1", "", 200, "Date: then", "Date: then\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true)]
    public async Task The_end_of_a_body_is_said_as_the_visitor_understands_it(
        string method, string version, string fields, int status, string field, string expected, bool keepAlive)
    {
        await using var front = new FrontFixture((exchange, _) =>
        {
            var parts = field.Split(": ");
            Start(exchange, status, (parts[0], parts[1]));
            if (exchange.ResponseMayHaveBody)
            {
                exchange.WriteBody("ok"u8);
            }

            exchange.CompleteResponse();
            return default;
        });
        var line = fields.Length > 0 ? fields + "\r\n" : "";
        await front.SendAsync($"{method} / HTTP/{version}\r\nHost: h\r\n{line}\r\n");
        expected = $"HTTP/1.1 {status} Fine\r\n{expected.Replace("{D}", Date, StringComparison.Ordinal)}";
        if (keepAlive)
        {
            Assert.Equal(expected, await front.ReceiveAsync(expected));
            Assert.False(front.Completion.IsCompleted);
        }
        else
        {
            Assert.Equal(expected, await front.ReceiveAllAsync());
            Assert.True(await front.Completion);
            Assert.False(front.IsAborted);
        }
    }

    [Fact]
    public async Task Every_interim_response_comes_before_the_final_one()
    {
        await using var front = new FrontFixture(async (exchange, _) =>
        {
            foreach (var status in new[] { 100, 102, 103, 199 })
            {
                Assert.True(Interim(exchange, status, ("Link", "</a>")));
                await exchange.FlushAsync();
                Assert.False(exchange.HasResponseStarted);
            }

            Answer(exchange, "end");
        });
        await front.SendAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        Assert.Equal(
            string.Concat(new[] { 100, 102, 103, 199 }.Select(static status => $"HTTP/1.1 {status} Fine\r\nLink: </a>\r\n\r\n"))
                + $"HTTP/1.1 200 Fine\r\nContent-Length: 3\r\n{Date}\r\nend",
            await front.ReceiveAsync("end"));
    }

    [Fact]
    public async Task A_visitor_of_http_1_0_gets_no_interim_response()
    {
        await using var front = new FrontFixture((exchange, _) =>
        {
            Assert.False(Interim(exchange, 103));
            Answer(exchange, "end");
            return default;
        });
        await front.SendAsync("GET / HTTP/1.0\r\n\r\n");
        Assert.StartsWith("HTTP/1.1 200 Fine\r\n", await front.ReceiveAllAsync(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_error_takes_the_place_of_a_head_that_has_not_left()
    {
        await using var front = new FrontFixture(async (exchange, _) =>
        {
            Start(exchange, 200, ("Content-Length", "10"), ("X-Backend", "1"));
            await exchange.WriteErrorAsync(ProxyError.BackendClosed, default);
        });
        await front.SendAsync("GET / HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\n\r\n");
        var answer = await front.ReceiveAsync("</html>\n");
        Assert.StartsWith("HTTP/1.1 502 Bad Gateway\r\n", answer, StringComparison.Ordinal);
        Assert.Contains("\r\nTunnel2-Error: backend-closed\r\n", answer, StringComparison.Ordinal);
        Assert.DoesNotContain("X-Backend", answer, StringComparison.Ordinal);
        Assert.DoesNotContain("Connection:", answer, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_answer_of_its_own_has_room_for_several_long_fields()
    {
        KeyValuePair<string, string>[] fields =
            [.. Enumerable.Range(0, 6).Select(static i => KeyValuePair.Create("Set-Cookie", $"c{i}={new string('x', 2000)}"))];
        await using var front = new FrontFixture(
            (exchange, _) => new ValueTask(exchange.WriteAnswerAsync(new ErrorResponse(302, fields, default))));
        await front.SendAsync("GET / HTTP/1.1\r\nHost: web.localhost\r\n\r\n");
        var answer = await front.ReceiveAsync("\r\n\r\n");
        Assert.StartsWith("HTTP/1.1 302 ", answer, StringComparison.Ordinal);
        Assert.All(fields, one => Assert.Contains($"\r\nSet-Cookie: {one.Value}\r\n", answer, StringComparison.Ordinal));
    }

    [Fact]
    public async Task A_response_that_was_not_completed_is_cut_off()
    {
        await using var front = new FrontFixture(async (exchange, _) =>
        {
            Start(exchange, 200);
            exchange.WriteBody("half"u8);
            await exchange.FlushAsync();
        });
        await front.SendAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        await Assert.ThrowsAsync<IOException>(front.ReceiveAllAsync);
        Assert.True(front.IsAborted);
    }

    [Fact]
    public async Task A_head_that_cannot_be_written_is_none()
    {
        await using var front = new FrontFixture(async (exchange, _) =>
        {
            Assert.False(Start(exchange, 200, ("X", "a\r\nEvil: b")));
            Assert.False(Start(exchange, 200, ("X Y", "a")));
            await exchange.WriteErrorAsync(ProxyError.BackendProtocol, default);
        });
        await front.SendAsync("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
        var answer = await front.ReceiveAsync("\r\n\r\n");
        Assert.StartsWith("HTTP/1.1 502 ", answer, StringComparison.Ordinal);
        Assert.DoesNotContain("Evil", answer, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_unread_body_is_read_for_the_next_request()
    {
        await using var front = new FrontFixture((exchange, _) =>
        {
            Answer(exchange, exchange.Target + ";");
            return default;
        });
        await front.SendAsync(
            $"POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 50000\r\n\r\n{new string('x', 50_000)}GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
        Assert.EndsWith("/2;", await front.ReceiveAsync("/2;"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_visitor_that_was_not_asked_to_continue_reads_that_the_connection_ends()
    {
        await using var front = new FrontFixture((exchange, _) =>
        {
            Assert.True(exchange.ExpectsContinue);
            Answer(exchange, "no");
            return default;
        });
        await front.SendAsync("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
        Assert.Contains("\r\nConnection: close\r\n", await front.ReceiveAllAsync(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_visitor_that_was_asked_to_continue_keeps_its_connection()
    {
        await using var front = new FrontFixture(async (exchange, _) =>
        {
            await exchange.SendContinueAsync();
            Answer(exchange, await ReadBodyAsync(exchange));
        });
        await front.SendAsync("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
        Assert.Equal("HTTP/1.1 100 Continue\r\n\r\n", await front.ReceiveAsync("\r\n\r\n"));
        await front.SendAsync("hello");
        var answer = await front.ReceiveAsync("hello");
        Assert.DoesNotContain("Connection:", answer, StringComparison.Ordinal);
        Assert.False(front.Completion.IsCompleted);
    }

    [Theory]
    [InlineData("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 100)]
    [InlineData("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 1)]
    public async Task The_preface_of_http_2_is_left_for_another_reader(string preface, int piece)
    {
        await using var front = new FrontFixture(ShowBlock, PipeScheduler.Inline);
        for (var i = 0; i < preface.Length; i += piece)
        {
            await front.SendAsync(preface.Substring(i, Math.Min(piece, preface.Length - i)));
        }

        Assert.False(await front.Completion);
        var read = await front.FrontInput.ReadAsync();
        Assert.Equal(preface, Encoding.Latin1.GetString(read.Buffer.FirstSpan));
        front.FrontInput.AdvanceTo(read.Buffer.End);
        await front.FrontInput.CompleteAsync();
    }

    [Fact]
    public async Task The_preface_of_http_2_is_none_behind_a_request()
    {
        await using var front = new FrontFixture(ShowBlock);
        await front.SendAsync("GET / HTTP/1.1\r\nHost: h\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        Assert.Contains("HTTP/1.1 505 ", await front.ReceiveAllAsync(), StringComparison.Ordinal);
    }

    private static ValueTask ShowBlock(VisitorExchange exchange, ForwardedRequest request)
    {
        Answer(exchange, Describe(exchange));
        return default;
    }
}
