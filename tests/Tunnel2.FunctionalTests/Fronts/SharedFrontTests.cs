using System.Net;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>What a visitor can rely on with every front and version of HTTP: one set of tests for all of them.</summary>
[Trait("Engine", "each")]
public sealed class SharedFrontTests
{
    public static TheoryData<string> Fronts => [.. FrontVisitor.Kinds];

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task Statuses_and_bodies_arrive(string front) => FrontVisitor.RunAsync(front, async visitor =>
    {
        foreach (var status in new[] { 200, 201, 202, 206, 301, 400, 404, 409, 418, 500, 503 })
        {
            using var response = await visitor.Client.GetAsync($"/status/{status}");
            Assert.Equal(status, (int)response.StatusCode);
            Assert.Equal(visitor.Version, response.Version);
            Assert.False(response.Headers.Contains("Tunnel2-Error"));
        }

        foreach (var length in new[] { 0, 1, 1000, 65_536, 3_000_000 })
        {
            var bytes = await visitor.Client.GetByteArrayAsync($"/bytes/{length}");
            Assert.Equal(length, bytes.Length);
            PatternBytes.Verify(bytes, 0);
        }
    });

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task Bodies_go_up_with_and_without_a_declared_length(string front) => FrontVisitor.RunAsync(front, async visitor =>
    {
        foreach (var length in new[] { 0, 1, 70_000, 2_000_000 })
        {
            foreach (var isDeclared in new[] { true, false })
            {
                var bytes = PatternBytes.Window(0, length).ToArray();
                using HttpContent content = isDeclared ? new ByteArrayContent(bytes) : new StreamContent(new HiddenLengthStream(bytes));
                using var response = await visitor.Client.PostAsync("/echo", content);
                Assert.Equal(HttpStatusCode.OK, response.StatusCode);
                Assert.Equal(bytes, await response.Content.ReadAsByteArrayAsync());
            }
        }
    });

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task A_head_has_no_body_and_204_and_304_have_none(string front) => FrontVisitor.RunAsync(front, async visitor =>
    {
        using var request = new HttpRequestMessage(HttpMethod.Head, "/bytes/1000")
        {
            Version = visitor.Version,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        using var head = await visitor.Client.SendAsync(request);
        Assert.Equal(1000, head.Content.Headers.ContentLength);
        Assert.Empty(await head.Content.ReadAsByteArrayAsync());
        foreach (var status in new[] { 204, 304 })
        {
            using var response = await visitor.Client.GetAsync($"/status/{status}");
            Assert.Equal(status, (int)response.StatusCode);
            Assert.Empty(await response.Content.ReadAsByteArrayAsync());
        }
    });

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task Each_event_arrives_before_the_next_is_sent(string front)
    {
        var mayGoOn = new AsyncCounter("events the visitor has seen");
        return FrontVisitor.RunAsync(
            front,
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
                for (var i = 0; i < 10; i++)
                {
                    await mayGoOn.WaitForAsync(i);
                    await connection.WriteAsync($"9\r\ndata: {i}\n\n\r\n");
                }

                await connection.WriteAsync("0\r\n\r\n");
                await connection.WaitForEndAsync();
            },
            async visitor =>
            {
                using var response = await visitor.Client.GetAsync("/", HttpCompletionOption.ResponseHeadersRead);
                using var reader = new StreamReader(await response.Content.ReadAsStreamAsync());
                for (var i = 0; i < 10; i++)
                {
                    Assert.Equal($"data: {i}", await reader.ReadLineAsync());
                    Assert.Equal("", await reader.ReadLineAsync());
                    mayGoOn.Increment();
                }

                Assert.Null(await reader.ReadLineAsync());
            });
    }

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task Large_heads_pass_both_ways(string front) => FrontVisitor.RunAsync(
        front,
        async connection =>
        {
            while (true)
            {
                var head = await connection.ReadHeadAsync();
                await connection.WriteAsync($"HTTP/1.1 200 OK\r\nX-Back: {head["X-Big"]}\r\nContent-Length: 0\r\n\r\n");
            }
        },
        async visitor =>
        {
            var value = new string('v', 15_000);
            using var request = new HttpRequestMessage(HttpMethod.Get, "/")
            {
                Version = visitor.Version,
                VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            };
            request.Headers.TryAddWithoutValidation("X-Big", value);
            using var response = await visitor.Client.SendAsync(request);
            Assert.Equal(HttpStatusCode.OK, response.StatusCode);
            Assert.Equal([value], response.Headers.GetValues("X-Back"));
        });

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task What_belongs_to_one_connection_ends_at_it(string front) => FrontVisitor.RunAsync(
        front,
        async connection =>
        {
            var head = await connection.ReadHeadAsync();
            Assert.Null(head["Proxy-Authorization"]);
            Assert.Null(head["Keep-Alive"]);
            Assert.Equal(["127.0.0.1"], head.All("X-Forwarded-For"));
            await connection.WriteAsync(
                "HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Private\r\nX-Private: 1\r\nKeep-Alive: timeout=1\r\nTunnel2-Error: fake\r\n"
                    + "X-Kept: 1\r\nContent-Length: 2\r\n\r\nok");
            await connection.WaitForEndAsync();
        },
        async visitor =>
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, "/")
            {
                Version = visitor.Version,
                VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            };
            request.Headers.TryAddWithoutValidation("Proxy-Authorization", "Basic x");
            request.Headers.TryAddWithoutValidation("X-Forwarded-For", "1.2.3.4");
            using var response = await visitor.Client.SendAsync(request);
            Assert.True(response.Headers.Contains("X-Kept"));
            Assert.False(
                response.Headers.Contains("X-Private")
                    || response.Headers.Contains("Keep-Alive")
                    || response.Headers.Contains("Tunnel2-Error"));
        });

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task A_backend_that_breaks_http_is_an_error_that_says_so(string front) => FrontVisitor.RunAsync(
        front,
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n");
            await connection.WaitForEndAsync();
        },
        async visitor =>
        {
            using var response = await visitor.Client.GetAsync("/");
            Assert.Equal(HttpStatusCode.BadGateway, response.StatusCode);
            Assert.Equal(["backend-protocol"], response.Headers.GetValues("Tunnel2-Error"));
            Assert.Equal("application/problem+json", response.Content.Headers.ContentType?.MediaType);
            Assert.Contains("\"leg\": \"backend\"", await response.Content.ReadAsStringAsync(), StringComparison.Ordinal);
        });

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task A_name_without_an_owner_is_an_error_that_says_so(string front) => FrontVisitor.RunAsync(front, async visitor =>
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, "/")
        {
            Version = visitor.Version,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        request.Headers.Host = "example.org";
        using var response = await visitor.Client.SendAsync(request);
        Assert.Equal(HttpStatusCode.NotFound, response.StatusCode);
        Assert.Equal(["unknown-host"], response.Headers.GetValues("Tunnel2-Error"));
    });

    [Theory]
    [MemberData(nameof(Fronts))]
    public async Task A_visitor_that_gives_up_is_gone_for_the_backend(string front)
    {
        var arrived = new WaitSignal("the request arrived");
        var ended = new WaitSignal("the backend's connection ended");
        await FrontVisitor.RunAsync(
            front,
            async connection =>
            {
                await connection.ReadHeadAsync();
                arrived.Set();
                await connection.WaitForEndAsync();
                ended.Set();
            },
            async visitor =>
            {
                using var giveUp = new CancellationTokenSource();
                var asking = visitor.Client.GetAsync("/", giveUp.Token);
                await arrived.WaitAsync();
                await giveUp.CancelAsync();
                await Assert.ThrowsAnyAsync<OperationCanceledException>(() => asking);
                await ended.WaitAsync();
            });
    }

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task A_body_that_is_cut_short_is_no_whole_one(string front) => FrontVisitor.RunAsync(
        front,
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
            await connection.CloseAsync();
        },
        async visitor => await Assert.ThrowsAnyAsync<HttpRequestException>(async () =>
        {
            using var response = await visitor.Client.GetAsync("/");
            response.EnsureSuccessStatusCode();
        }));

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task Many_requests_at_once_do_not_mix(string front) => FrontVisitor.RunAsync(front, async visitor =>
    {
        await Task.WhenAll(Enumerable.Range(0, 200).Select(async i =>
        {
            var text = $"body {i} {new string('x', i * 20)}";
            using var content = new StringContent(text, Encoding.ASCII);
            using var response = await visitor.Client.PostAsync("/echo", content);
            Assert.Equal(text, await response.Content.ReadAsStringAsync());
        }));
    });

    [Theory]
    [InlineData("text/plain", 413, null)]
    [InlineData("application/grpc", 200, "8")]
    public Task A_length_beyond_the_limit_has_its_answer_over_HTTP_2_too(string type, int status, string? grpcStatus) =>
        TunnelFixture.RunAsync(
            Mirror.ServeAsync,
            async tunnel =>
            {
                await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
                var request = Http2Visitor.Request(
                    isTls: false, method: "POST", fields: [("content-type", type), ("content-length", "2001")]);
                var answer = await (await visitor.OpenAsync(request)).ReadWholeAsync();
                Assert.Equal(
                    (status, "request-body-too-large", grpcStatus), (answer.Status, answer["tunnel2-error"], answer["grpc-status"]));
                Assert.Equal(200, (await visitor.ExchangeAsync(Http2Visitor.Request(isTls: false))).Status);
            },
            new TunnelSetup { Settings = ["Limits:RequestBodyBytes=2000"] });

    /// <summary>Bytes whose number is unknown before they end.</summary>
    private sealed class HiddenLengthStream(byte[] bytes) : MemoryStream(bytes)
    {
        public override bool CanSeek => false;
    }
}
