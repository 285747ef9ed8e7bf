using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Inspection.Capture;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Inspecting;

public sealed class ReplayTests
{
    [Fact]
    public Task A_request_is_repeated_with_the_same_bytes() => InspectedTunnel.RunAsync(Mirror.ServeAsync, async inspected =>
    {
        await using var visitor = await inspected.Tunnel.ConnectAsync();
        await visitor.WriteAsync(
            $"POST /a?b=1 HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nz: 1\r\nAuthorization: Bearer secret\r\n"
                + "Content-Length: 6\r\nA: 2\r\n\r\nb\0\u00ff\r\n1");
        var first = await visitor.ReadBodyAsync(await visitor.ReadHeadAsync());
        await inspected.EndedAsync(1);

        var (status, json) = await inspected.PostAsync("/1/replay");
        Assert.Equal((200, "tunnel", 2), (status, json.GetProperty("via").GetString(), json.GetProperty("id").GetInt32()));
        Assert.Equal(1, json.GetProperty("exchange").GetProperty("replayOf").GetInt32());
        Assert.DoesNotContain("secret", json.GetRawText(), StringComparison.Ordinal);
        var second = inspected.Store.Find(2)!;
        Assert.Equal(first.Text(), Encoding.Latin1.GetString(second.ResponseBody.ToArray()));
        var comparison = json.GetProperty("comparison");
        Assert.True(comparison.GetProperty("response").GetProperty("body").GetProperty("same").GetBoolean());
        Assert.True(comparison.GetProperty("status").GetProperty("same").GetBoolean());
        Assert.Empty(comparison.GetProperty("request").GetProperty("fields").EnumerateArray());
    });

    [Fact]
    public Task A_chunked_request_and_one_without_a_body_are_repeated() => InspectedTunnel.RunAsync(Mirror.ServeAsync, async inspected =>
    {
        await using var visitor = await inspected.Tunnel.ConnectAsync();
        await visitor.WriteAsync(
            $"PUT / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
        await visitor.ReadBodyAsync(await visitor.ReadHeadAsync());
        await inspected.EndedAsync(1);
        await inspected.PostAsync("/1/replay");
        var body = Encoding.Latin1.GetString(inspected.Store.Find(2)!.ResponseBody.ToArray());
        Assert.Contains("Transfer-Encoding: chunked", body, StringComparison.Ordinal);
        Assert.EndsWith("\r\n\r\nabcde", body, StringComparison.Ordinal);

        await inspected.Tunnel.ExchangeAsync("/none");
        await inspected.EndedAsync(3);
        var (status, json) = await inspected.PostAsync("/3/replay");
        Assert.Equal((200, 200), (status, json.GetProperty("exchange").GetProperty("status").GetInt32()));
    });

    [Fact]
    public Task Trailers_are_repeated_and_compared() => InspectedTunnel.RunAsync(
        async connection =>
        {
            while (true)
            {
                var body = await connection.ReadBodyAsync(await connection.ReadHeadAsync());
                var trailers = string.Concat(body.Trailers.Select(static field => $"{field.Key}: {field.Value}\r\n"));
                await connection.WriteAsync($"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n{trailers}\r\n");
            }
        },
        async inspected =>
        {
            await using var visitor = await inspected.Tunnel.ConnectAsync();
            await visitor.WriteAsync(
                $"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n");
            await visitor.ReadBodyAsync(await visitor.ReadHeadAsync());
            await inspected.EndedAsync(1);
            var (status, same) = await inspected.PostAsync("/1/replay");
            Assert.Equal((200, "tunnel"), (status, same.GetProperty("via").GetString()));
            Assert.Empty(same.GetProperty("comparison").GetProperty("response").GetProperty("trailers").EnumerateArray());
            var answer = same.GetProperty("exchange").GetProperty("response").GetProperty("trailers");
            Assert.Equal("1", Assert.Single(answer.EnumerateArray()).GetProperty("value").GetString());

            (_, var other) = await inspected.PostAsync("/1/replay", """{"trailers":[{"name":"X-Sum","value":"2"}]}""");
            foreach (var side in new[] { "request", "response" })
            {
                var trailers = other.GetProperty("comparison").GetProperty(side).GetProperty("trailers");
                var differs = Assert.Single(trailers.EnumerateArray());
                Assert.Equal(("1", "2"), (differs.GetProperty("first")[0].GetString(), differs.GetProperty("second")[0].GetString()));
            }

            // Straight to the service too.
            using var elsewhere = inspected.Inspection.Open([$"http://web.localhost:{FreePort.Next()}"]);
            (_, var direct) = await inspected.PostAsync("/1/replay");
            Assert.Equal("service", direct.GetProperty("via").GetString());
            answer = direct.GetProperty("exchange").GetProperty("response").GetProperty("trailers");
            Assert.Equal("1", Assert.Single(answer.EnumerateArray()).GetProperty("value").GetString());
        });

    [Fact]
    public Task An_edited_request_differs_where_it_was_edited() => InspectedTunnel.RunAsync(Mirror.ServeAsync, async inspected =>
    {
        await inspected.Tunnel.ExchangeAsync("/a", fields: "X: 1\r\nAuthorization: Bearer secret\r\n");
        await inspected.EndedAsync(1);
        var (status, json) = await inspected.PostAsync(
            "/1/replay", """{"method":"PATCH","target":"/b","body":"new","fields":[{"keep":0},{"keep":2},{"name":"X","value":"2"}]}""");
        Assert.Equal((200, "tunnel"), (status, json.GetProperty("via").GetString()));
        var request = Encoding.Latin1.GetString(inspected.Store.Find(2)!.ResponseBody.ToArray());
        Assert.StartsWith("PATCH /b HTTP/1.1\r\n", request, StringComparison.Ordinal);
        Assert.Contains("\r\nX: 2\r\n", request, StringComparison.Ordinal);
        Assert.Contains("\r\nAuthorization: Bearer secret\r\n", request, StringComparison.Ordinal);
        Assert.EndsWith("\r\n\r\nnew", request, StringComparison.Ordinal);
        var line = json.GetProperty("comparison").GetProperty("request").GetProperty("line");
        Assert.Equal(("GET /a", "PATCH /b"), (line.GetProperty("first").GetString(), line.GetProperty("second").GetString()));
        var lines = json.GetProperty("comparison").GetProperty("response").GetProperty("body").GetProperty("lines").EnumerateArray();
        Assert.Contains("+PATCH /b HTTP/1.1", lines.Select(line => line.GetString()));
    });

    [Fact]
    public Task A_body_that_was_cut_is_refused_with_the_reason() => InspectedTunnel.RunAsync(
        Mirror.ServeAsync,
        async inspected =>
        {
            await using var visitor = await inspected.Tunnel.ConnectAsync();
            var body = new string('x', 2000);
            await visitor.WriteAsync($"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 2000\r\n\r\n{body}");
            await visitor.ReadBodyAsync(await visitor.ReadHeadAsync());
            await inspected.EndedAsync(1);
            var (status, json) = await inspected.PostAsync("/1/replay");
            Assert.Equal((409, "body-truncated"), (status, json.GetProperty("code").GetString()));
            Assert.Contains("2000 bytes", json.GetProperty("detail").GetString(), StringComparison.Ordinal);
            Assert.Equal(200, (await inspected.PostAsync("/1/replay", """{"body":"short"}""")).Status);
            Assert.Null(inspected.Store.Find(3));
        },
        new InspectionLimits { BodyBytes = 1000 });

    [Fact]
    public Task Where_the_public_listener_is_out_of_reach_the_service_gets_it_directly() => InspectedTunnel.RunAsync(
        Mirror.ServeAsync,
        async inspected =>
        {
            await inspected.Tunnel.ExchangeAsync("/a");
            await inspected.EndedAsync(1);
            using var refused = new RefusedPort();
            using var other = inspected.Inspection.Open([$"http://web.localhost:{refused.Port}"]);
            var (status, json) = await inspected.PostAsync("/1/replay");
            Assert.Equal((200, "service"), (status, json.GetProperty("via").GetString()));
            Assert.Contains("connection refused", json.GetProperty("note").GetString(), StringComparison.Ordinal);
            var request = Encoding.Latin1.GetString(inspected.Store.Find(2)!.ResponseBody.ToArray());
            Assert.StartsWith("GET /a HTTP/1.1\r\nHost: web.localhost", request, StringComparison.Ordinal);
            Assert.True(inspected.Store.Find(2)!.IsEnded);
        });

    [Fact]
    public Task A_replay_of_a_wildcard_goes_to_the_name_that_was_called_with_its_scheme() => InspectedTunnel.RunAsync(
        Mirror.ServeAsync,
        async inspected =>
        {
            await inspected.Tunnel.ExchangeAsync("/a");
            await inspected.EndedAsync(1);
            using var refused = new RefusedPort();
            using var other = inspected.Inspection.Open(
                [$"https://*.localhost:{refused.Port}", $"http://*.localhost:{inspected.Tunnel.Entry.Http.Port}"]);
            var (status, json) = await inspected.PostAsync("/1/replay");
            Assert.Equal((200, "tunnel", 1), (
                status, json.GetProperty("via").GetString(), json.GetProperty("exchange").GetProperty("replayOf").GetInt32()));
            var called = $"http://web.localhost:{inspected.Tunnel.Entry.Http.Port}/a";
            var copied = (await inspected.GetAsync("/1/copy/curl")).GetProperty("text").GetString();
            Assert.Contains(called, copied, StringComparison.Ordinal);
            var entry = (await inspected.GetAsync(".har?id=1")).GetProperty("log").GetProperty("entries")[0];
            Assert.Equal(called, entry.GetProperty("request").GetProperty("url").GetString());

            // A name that the wildcard does not cover is not called.
            using var another = inspected.Inspection.Open([$"http://*.example.org:{inspected.Tunnel.Entry.Http.Port}"]);
            (_, json) = await inspected.PostAsync("/1/replay");
            Assert.Equal("service", json.GetProperty("via").GetString());
        });

    [Fact]
    public Task A_replay_that_is_no_json_or_of_nothing_is_refused() => InspectedTunnel.RunAsync(Mirror.ServeAsync, async inspected =>
    {
        await inspected.Tunnel.ExchangeAsync("/a");
        await inspected.EndedAsync(1);
        Assert.Equal(400, (await inspected.PostAsync("/1/replay", "{")).Status);
        Assert.Equal(400, (await inspected.PostAsync("/1/replay", """{"target":"http://elsewhere/"}""")).Status);
        Assert.Equal(404, (await inspected.PostAsync("/99/replay")).Status);
        await using var visitor = await RawHttpClient.ConnectAsync(inspected.EndPoint);
        await visitor.WriteAsync(
            $"POST /api/v1/sessions/web/exchanges/1/replay HTTP/1.1\r\nHost: {inspected.EndPoint}\r\nContent-Type: text/plain\r\n"
                + "Content-Length: 2\r\n\r\n{}");
        Assert.Equal(415, (await visitor.ReadHeadAsync()).StatusCode);
        Assert.Null(inspected.Store.Find(2));
    });
}
