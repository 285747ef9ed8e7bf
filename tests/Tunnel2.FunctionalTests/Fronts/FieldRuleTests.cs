using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>
/// One table of fields and trailers (<see cref="FieldCases"/>) over every version of HTTP, and against the agent alone: what one refuses,
/// no other carries.
/// </summary>
public sealed class FieldRuleTests
{
    public static TheoryData<string> Fronts => ["HTTP/1.1", "HTTP/1.1 over TLS", "HTTP/2", "HTTP/2 over TLS"];

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task A_field_of_a_request_meets_one_rule(string front) => RunAsync(front, async visit =>
    {
        foreach (var one in FieldCases.Heads)
        {
            var (status, code, seen) = await visit([(one.Name, one.Value)], []);
            AssertFate(front, one, FateAt(front, one), status, code, seen);
        }
    });

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task A_trailer_of_a_request_meets_one_rule(string front) => RunAsync(front, async visit =>
    {
        foreach (var one in FieldCases.Trailers)
        {
            var (status, code, seen) = await visit([], [(one.Name, one.Value), ("X-Last", "1")]);
            AssertFate(front, one, FateAt(front, one), status, code, seen);
            Assert.True(
                FateAt(front, one) == FieldFate.Refused || seen!.Contains("\nX-Last: 1\n", StringComparison.OrdinalIgnoreCase),
                $"{front}, {one}: what comes after it is lost\n{seen}");
        }
    });

    [Fact]
    public Task The_agent_keeps_the_same_rule_against_a_server_that_means_harm() => WithAgentAsync(async uplink =>
    {
        var slot = 0;
        var heads = FieldCases.Heads.Select(static one => (one, false));
        foreach (var (one, isTrailer) in heads.Concat(FieldCases.Trailers.Select(static one => (one, true))))
        {
            var stream = new StreamId((ushort)slot++, 1);
            (string, string)[] field = [(one.Name, one.Value)];
            await uplink.SendAsync(
                UplinkFrames.Request(stream, method: "POST", end: false, fields: isTrailer ? [] : field),
                UplinkFrames.Data(stream, "ok"),
                UplinkFrames.Trailers(stream, isTrailer ? [.. field, ("X-Last", "1")] : [("X-Last", "1")]));
            var (reason, seen) = await ReadAnswerAsync(uplink, stream);
            Assert.True(reason is null or StreamResetReason.VisitorProtocol, $"{one}: {reason}");
            AssertFate("the agent", one, one.AtAgent, reason is null ? 200 : 400, "bad-request", seen);
        }
    });

    [Theory]
    [InlineData("HTTP/2")]
    [InlineData("HTTP/2 over TLS")]
    public async Task What_only_http2_forbids_never_reaches_the_service(string front)
    {
        (string Name, string Value)[] fields =
        [
            ("X-Upper", "1"), ("connection", "close"), ("connection", "x-other"), ("keep-alive", "1"), ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"), ("te", "gzip"), ("x-padded", " a"), ("x-padded", "a\t"), (":path", "/again"), (":unknown", "x"),
            ("content-length", "1"), ("content-length", "3"), ("x:y", "1"),
        ];
        await RunAsync(front, async visit =>
        {
            foreach (var field in fields)
            {
                var (status, code, seen) = await visit([field], []);
                Assert.True(seen is null && (status, code) is (400, "bad-request") or (0, null), $"{field}: {status} {code}\n{seen}");
            }

            foreach (var trailer in new[]
            {
                (":path", "/again"),
                (":status", "200"),
                ("X-Upper", "1"),
                ("connection", "close"),
                ("x-padded", " a"),
                ("x-padded", "a\t"),
            })
            {
                var (status, code, seen) = await visit([], [trailer]);
                Assert.True(seen is null && (status, code) is (400, "bad-request") or (0, null), $"{trailer}: {status} {code}\n{seen}");
            }
        });
    }

    [Theory]
    [InlineData("HTTP/2")]
    [InlineData("HTTP/2 over TLS")]
    public Task One_host_reaches_the_service_and_it_is_the_one_that_was_routed_by(string front) => WithTunnelAsync(
        ShowAsync,
        async tunnel =>
        {
            var isTls = front.EndsWith("TLS", StringComparison.Ordinal);
            await using var visitor = await Http2Visitor.ConnectAsync(isTls ? tunnel.Entry.Https : tunnel.Entry.Http, isTls);
            var both = await visitor.ExchangeAsync(Http2Visitor.Request(isTls, fields: ("host", "other.localhost")));
            if (both.Status == 200)
            {
                Assert.Equal(1, both.Body.Split('\n').Count(static line => line.StartsWith("host:", StringComparison.OrdinalIgnoreCase)));
                Assert.Contains("host: web.localhost\n", both.Body, StringComparison.OrdinalIgnoreCase);
                Assert.DoesNotContain("other.localhost", both.Body, StringComparison.Ordinal);
            }

            foreach (var authority in new[] { "", "u@web.localhost", "web.localhost:", "web.localhost, web.localhost", "web%2elocalhost" })
            {
                await using var another = await Http2Visitor.ConnectAsync(isTls ? tunnel.Entry.Https : tunnel.Entry.Http, isTls);
                var answer = await another.ExchangeAsync(Http2Visitor.Request(isTls, authority: authority));
                Assert.True(
                    (answer.Status, answer["tunnel2-error"]) is (400, "invalid-host") or (0, null),
                    $"{authority}: {answer.Status} {answer["tunnel2-error"]}");
            }
        });

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task A_field_of_a_response_meets_one_rule(string front) => RunAsync(
        front,
        async connection =>
        {
            while (true)
            {
                await connection.ReadBodyAsync(await connection.ReadHeadAsync(), "POST");
                await connection.WriteAsync(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Kept: 1\r\nTunnel2-Error: fake\r\nTunnel2_Error: fake\r\n"
                        + "Content_Length: 7\r\nProxy-Authenticate: Basic\r\nProxy-Authentication-Info: x\r\n"
                    + "Keep_Alive: 1\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\n"
                    + "X-Sum: 1\r\nSet-Cookie: a=b\r\nContent-Type: text/html\r\nLocation: /\r\ncache_control: no\r\n"
                        + "Tunnel2-Error: fake\r\nConnection: close\r\nETag: x\r\n\r\n");
            }
        },
        async visit =>
        {
            var (status, code, seen) = await visit([], []);
            Assert.Equal((200, null), (status, code));
            Assert.Contains("\nx-kept: 1\n", seen, StringComparison.OrdinalIgnoreCase);
            Assert.Contains("\nx-sum: 1\n", seen, StringComparison.OrdinalIgnoreCase);
            Assert.Contains("\netag: x\n", seen, StringComparison.OrdinalIgnoreCase);
            foreach (var name in new[]
            {
                "tunnel2-error",
                "tunnel2_error",
                "content_length",
                "proxy-authenticate",
                "proxy-authentication-info",
                "keep_alive",
                "set-cookie",
                "content-type",
                "location",
                "cache_control",
                "connection",
            })
            {
                Assert.DoesNotContain($"\n{name}:", seen, StringComparison.OrdinalIgnoreCase);
            }
        },
        showsAnswer: true);

    private delegate Task<(int Status, string? Code, string? Seen)> Visit(
        (string Name, string Value)[] fields, (string Name, string Value)[] trailers);

    private static FieldFate FateAt(string front, FieldCase one) =>
        front.StartsWith("HTTP/2", StringComparison.Ordinal) ? one.AtHttp2 : one.Fate;

    private static void AssertFate(string where, FieldCase one, FieldFate fate, int status, string? code, string? seen)
    {
        var what = $"{where}, {one}: {status} {code}\n{seen}";
        if (fate == FieldFate.Refused)
        {
            Assert.True(seen is null, what);
            Assert.True(
                (status, code) is (400, "bad-request" or "invalid-host")
                    || (status == 0 && where.StartsWith("HTTP/2", StringComparison.Ordinal)),
                what);
            return;
        }

        Assert.True(status == 200 && seen is not null, what);
        Assert.True(seen.Contains($"\n{one.Name}: {one.Value}\n", StringComparison.OrdinalIgnoreCase) == (fate == FieldFate.Passes), what);
    }

    private static Task RunAsync(string front, Func<Visit, Task> test) => RunAsync(front, ShowAsync, test);

    private static Task RunAsync(
        string front, Func<RawConnection, Task> backend, Func<Visit, Task> test, bool showsAnswer = false) => WithTunnelAsync(
        backend,
        async tunnel =>
        {
            var isTls = front.EndsWith("TLS", StringComparison.Ordinal);
            await test(front.StartsWith("HTTP/2", StringComparison.Ordinal)
                ? (fields, trailers) => VisitByHttp2Async(tunnel, isTls, showsAnswer, fields, trailers)
                : (fields, trailers) => VisitByHttp1Async(tunnel, isTls, showsAnswer, fields, trailers));
        });

    private static async Task<(int Status, string? Code, string? Seen)> VisitByHttp2Async(
        TunnelFixture tunnel, bool isTls, bool showsAnswer, (string Name, string Value)[] fields, (string Name, string Value)[] trailers)
    {
        await using var visitor = await Http2Visitor.ConnectAsync(isTls ? tunnel.Entry.Https : tunnel.Entry.Http, isTls);
        var answer = await visitor.ExchangeAsync(
            Http2Visitor.Request(isTls, method: "POST", fields: [.. fields.Select(Lower)]),
            "ok",
            trailers.Length == 0 ? null : trailers.Select(Lower));
        var seen = answer.Status != 200 ? null
            : showsAnswer ? $"\n{string.Concat(answer.Fields.Select(static field => $"{field.Name}: {field.Value}\n"))}"
            : answer.Body;
        return (answer.Status, answer["tunnel2-error"], seen);

        // But for what is to be wrong.
        static (string, string) Lower((string Name, string Value) field) =>
            field.Name == "X-Upper" ? field : (field.Name.ToLowerInvariant(), field.Value);
    }

    private static async Task<(int Status, string? Code, string? Seen)> VisitByHttp1Async(
        TunnelFixture tunnel, bool isTls, bool showsAnswer, (string Name, string Value)[] fields, (string Name, string Value)[] trailers)
    {
        await using var visitor = isTls
            ? await RawHttpClient.ConnectTlsAsync(tunnel.Entry.Https, TunnelFixture.Host)
            : await RawHttpClient.ConnectAsync(tunnel.Entry.Http);
        await visitor.WriteAsync(
            $"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n{Lines(fields)}\r\n2\r\n"
                + $"ok\r\n0\r\n{Lines(trailers)}\r\n");
        var head = await visitor.ReadHeadAsync();
        var body = await visitor.ReadBodyAsync(head, "POST");
        var seen = head.StatusCode != 200 ? null
            : showsAnswer ? $"\n{string.Concat(head.Fields.Concat(body.Trailers).Select(static field => $"{field.Key}: {field.Value}\n"))}"
            : body.Text;
        return (head.StatusCode, head["Tunnel2-Error"], seen);

        static string Lines((string Name, string Value)[] fields) =>
            string.Concat(fields.Select(static field => $"{field.Name}: {field.Value}\r\n"));
    }

    /// <summary>A backend that shows the fields and trailers that reached it, a line each.</summary>
    private static async Task ShowAsync(RawConnection connection)
    {
        while (true)
        {
            var head = await connection.ReadHeadAsync();
            var body = await connection.ReadBodyAsync(head, head.Method);
            if (body.Ending != ConnectionEnding.Complete)
            {
                return;
            }

            var answer = $"\n{string.Concat(head.Fields.Concat(body.Trailers).Select(static field => $"{field.Key}: {field.Value}\n"))}";
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {answer.Length}\r\n\r\n{answer}");
        }
    }

    private static async Task WithTunnelAsync(Func<RawConnection, Task> backend, Func<TunnelFixture, Task> test)
    {
        using var certificate = TestCertificate.Create();
        await TunnelFixture.RunAsync(
            backend,
            test,
            new TunnelSetup
            {
                Settings = ["Public:HttpsListen=127.0.0.1:0", $"Public:Certificate={certificate.File}"],
                Patience = TimeSpan.FromSeconds(60),
            });
    }

    private static async Task<(StreamResetReason? Reason, string? Seen)> ReadAnswerAsync(RawUplink uplink, StreamId stream)
    {
        var text = new StringBuilder();
        while (await uplink.ReadAsync() is { } frame)
        {
            if (frame.Stream != stream)
            {
                continue;
            }

            switch (frame.Type)
            {
                case FrameType.Rst when frame.Rst.Reason != StreamResetReason.None:
                    await uplink.SendAsync(UplinkFrames.Rst(stream, StreamResetReason.None));
                    return (frame.Rst.Reason, null);
                case FrameType.Headers:
                    Assert.Equal(ProtocolError.None, HeaderBlock.TrySplit(frame.Payload, out _, out var body));
                    text.Append(Encoding.Latin1.GetString(body));
                    break;
                case FrameType.Data:
                    text.Append(Encoding.Latin1.GetString(frame.Payload));
                    break;
                default:
                    break;
            }

            if (frame.Type is FrameType.Headers or FrameType.Data && frame.Header.EndsDirection)
            {
                return (null, text.ToString());
            }
        }

        throw new InvalidOperationException("The agent left.");
    }

    /// <summary>The real agent against a server played by hand.</summary>
    private static async Task WithAgentAsync(Func<RawUplink, Task> server)
    {
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using var raw = RawTcpServer.Start(ShowAsync);
        await using var entry = RawUplink.StartEntry(async uplink =>
        {
            try
            {
                await server(uplink);
                done.TrySetResult();
            }
            catch (Exception exception)
            {
                done.TrySetException(exception);
            }

            await uplink.WaitForGoodbyeAsync();
        });
        await using var agent = AgentFixture.Start(AgentFixture.Options(entry.Port, raw.Port));
        await done.Task.WaitAsync(TimeSpan.FromSeconds(60));
    }
}
