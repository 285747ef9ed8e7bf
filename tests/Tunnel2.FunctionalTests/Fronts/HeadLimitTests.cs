using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>
/// The limits of a request's head, the same over every version of HTTP. Over HTTP/2 a request that is too large costs its visitor that
/// request, and not all others on the connection.
/// </summary>
public sealed class HeadLimitTests
{
    private const string Base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    private readonly AsyncCounter _holding = new("requests that are held");
    private readonly WaitSignal _release = new("they may be answered");

    public static TheoryData<string> Fronts => ["HTTP/1.1", "HTTP/1.1 over TLS", "HTTP/2", "HTTP/2 over TLS"];

    private static IEnumerable<(string What, string Path, (string Name, string Value)[] Fields, int Status, string? Code)> Cases =>
    [
        ("a field of 45,000 bytes", "/", Fields(1, 45_000), 200, null),
        ("a field of 60,000 bytes", "/", Fields(1, 60_000), 200, null),
        ("a field of 66,000 bytes", "/", Fields(1, 66_000), 431, "request-head-too-large"),
        ("a field of 200,000 bytes", "/", Fields(1, 200_000), 431, "request-head-too-large"),
        ("64 KB of fields", "/", Fields(66, 1000), 431, "request-head-too-large"),
        ("200 KB of fields", "/", Fields(100, 2000), 431, "request-head-too-large"),
        ("190 fields", "/", Fields(190, 5), 200, null),
        ("250 fields", "/", Fields(250, 5), 431, "request-head-too-large"),
        ("900 fields", "/", Fields(900, 5), 431, "request-head-too-large"),
        ("a path of 16,000 bytes", "/" + Text(16_000), [], 200, null),
        ("a path of 17,000 bytes", "/" + Text(17_000), [], 414, "request-target-too-long"),
        ("a path of 100,000 bytes", "/" + Text(100_000), [], 414, "request-target-too-long"),
        ("a query of 17,000 bytes", "/?" + Text(17_000), [], 414, "request-target-too-long"),
        ("a path that is too long, and fields", "/" + Text(17_000), Fields(100, 1000), 414, "request-target-too-long"),
    ];

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task A_head_that_is_too_large_has_the_same_answer_in_every_version(string front) => WithTunnelAsync(async tunnel =>
    {
        var isTls = front.EndsWith("TLS", StringComparison.Ordinal);
        if (front.StartsWith("HTTP/1.1", StringComparison.Ordinal))
        {
            foreach (var (what, path, fields, status, code) in Cases)
            {
                await using var one = isTls
                    ? await RawHttpClient.ConnectTlsAsync(tunnel.Entry.Https, TunnelFixture.Host)
                    : await RawHttpClient.ConnectAsync(tunnel.Entry.Http);
                await one.SendRequestAsync(
                    path, TunnelFixture.Host, fields: string.Concat(fields.Select(static field => $"{field.Name}: {field.Value}\r\n")));
                var head = await one.ReadHeadAsync();
                Assert.True(
                    (head.StatusCode, head["Tunnel2-Error"]) == (status, code), $"{what}: {head.StatusCode} {head["Tunnel2-Error"]}");
            }

            return;
        }

        await using var visitor = await Http2Visitor.ConnectAsync(isTls ? tunnel.Entry.Https : tunnel.Entry.Http, isTls);
        foreach (var (what, path, fields, status, code) in Cases)
        {
            var answer = await visitor.ExchangeAsync(Http2Visitor.Request(isTls, path, fields: fields));
            Assert.True(
                (answer.Status, answer["tunnel2-error"], answer.GoAway) == (status, code, null),
                $"{what}: {answer.Status} {answer["tunnel2-error"]} RST {answer.Reset} GOAWAY {answer.GoAway}");
            Assert.True(status == 200 || answer.Body.Contains($"\"status\": {status}", StringComparison.Ordinal), $"{what}: {answer.Body}");
        }

        // Others on the connection continue.
        Assert.Equal(200, (await visitor.ExchangeAsync(Http2Visitor.Request(isTls))).Status);
    });

    [Fact]
    public Task Requests_of_the_same_browser_outlive_one_that_is_too_large() => WithTunnelAsync(async tunnel =>
    {
        await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
        var slow = await visitor.SendAsync(Http2Visitor.Request(isTls: false, method: "POST"), "ok", null);
        var large = await visitor.SendAsync(Http2Visitor.Request(isTls: false, fields: Fields(1, 100_000)));
        var answer = await slow.ReadWholeAsync();
        Assert.Equal((200, null), (answer.Status, answer.GoAway));
        Assert.True(large.Id > slow.Id);
        Assert.Equal(200, (await visitor.ExchangeAsync(Http2Visitor.Request(isTls: false))).Status);
    });

    /// <summary>Far beyond what Kestrel reads.</summary>
    private static IEnumerable<(string What, string Path, (string Name, string Value)[] Fields)> HugeCases =>
    [
        ("a field of 450,000 bytes", "/", Fields(1, 450_000)),
        ("640 KB of fields", "/", Fields(640, 1000)),
        ("10,000 fields", "/", Fields(10_000, 5)),
        ("a path of 170,000 bytes", "/" + Text(170_000), []),
        ("a path of 1,700,000 bytes", "/" + Text(1_700_000), []),
        ("1.7 MB of fields", "/", Fields(17, 100_000)),
    ];

    /// <summary>More than is read to keep a connection.</summary>
    private static (string What, string Path, (string Name, string Value)[] Fields) TooHuge =>
        ("6.4 MB of fields", "/", Fields(640, 10_000));

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task What_is_under_way_on_a_connection_outlives_every_head_that_is_too_large(bool isTls) => WithTunnelAsync(async tunnel =>
    {
        await using var visitor = await Http2Visitor.ConnectAsync(isTls ? tunnel.Entry.Https : tunnel.Entry.Http, isTls);
        var held = await visitor.SendAsync(Http2Visitor.Request(isTls, "/held"));
        await _holding.WaitForAsync(1);
        foreach (var (what, path, fields, status, _) in Cases.Where(static one => one.Status != 200))
        {
            var answer = await visitor.ExchangeAsync(Http2Visitor.Request(isTls, path, fields: fields));
            Assert.True(
                (answer.Status, answer.GoAway) == (status, null), $"{what}: {answer.Status} RST {answer.Reset} GOAWAY {answer.GoAway}");
        }

        foreach (var (what, path, fields) in HugeCases)
        {
            var answer = await visitor.ExchangeAsync(Http2Visitor.Request(isTls, path, fields: fields));
            Assert.True(
                (answer.Status, answer.GoAway) == (path.Length > 1 ? 414 : 431, null),
                $"{what}: {answer.Status} RST {answer.Reset} GOAWAY {answer.GoAway}");
            answer = await visitor.ExchangeAsync(Http2Visitor.Request(isTls, method: "POST"), "body", trailers: fields);
            Assert.True(
                fields.Length == 0 || (answer.Status, answer.GoAway) == (400, null),
                $"{what}, in trailers: {answer.Status} RST {answer.Reset} GOAWAY {answer.GoAway}");
        }

        _release.Set();
        var kept = await held.ReadWholeAsync();
        Assert.Equal((200, "ok", null), (kept.Status, kept.Body, kept.GoAway));
    });

    [Theory]
    [MemberData(nameof(Fronts))]
    public Task A_head_of_any_size_costs_its_connection_at_most(string front) => WithTunnelAsync(async tunnel =>
    {
        var isTls = front.EndsWith("TLS", StringComparison.Ordinal);
        var endPoint = isTls ? tunnel.Entry.Https : tunnel.Entry.Http;
        await using var other = await Http2Visitor.ConnectAsync(endPoint, isTls);
        var held = await other.SendAsync(Http2Visitor.Request(isTls, "/held"));
        await _holding.WaitForAsync(1);
        foreach (var (what, path, fields) in HugeCases.Append(TooHuge))
        {
            int status;
            if (front.StartsWith("HTTP/1.1", StringComparison.Ordinal))
            {
                await using var one = isTls
                    ? await RawHttpClient.ConnectTlsAsync(endPoint, TunnelFixture.Host)
                    : await RawHttpClient.ConnectAsync(endPoint);
                status = await AskAsync(one, path, fields);
            }
            else
            {
                await using var one = await Http2Visitor.ConnectAsync(endPoint, isTls);
                status = (await one.ExchangeAsync(Http2Visitor.Request(isTls, path, fields: fields))).Status;
            }

            Assert.True(status == 0 || status == (path.Length > 1 ? 414 : 431), $"{what}: {status}");
            Assert.Equal(200, (await other.ExchangeAsync(Http2Visitor.Request(isTls))).Status);
        }

        _release.Set();
        var kept = await held.ReadWholeAsync();
        Assert.Equal((200, "ok", null), (kept.Status, kept.Body, kept.GoAway));
    });

    [Fact]
    public async Task A_limit_that_is_set_lower_holds_for_http2_too()
    {
        await using var entry = await EntryFixture.StartAsync(
            null, "Limits:RequestHeadBytes=4000", "Limits:RequestLineBytes=300", "Timeouts:Park=100ms");
        await using var visitor = await Http2Visitor.ConnectAsync(entry.Http, isTls: false);
        foreach (var (path, fields, status) in new[]
        {
            ("/" + Text(280), Fields(1, 1), 503), ("/" + Text(300), Fields(1, 1), 414), ("/" + Text(10_000), Fields(1, 1), 414),
            ("/", Fields(1, 3800), 503), ("/", Fields(1, 4000), 431), ("/", Fields(1, 40_000), 431), ("/", Fields(195, 1), 503),
            ("/", Fields(203, 1), 431),
        })
        {
            var answer = await visitor.ExchangeAsync(Http2Visitor.Request(isTls: false, path, fields: fields));
            Assert.Equal((status, null), (answer.Status, answer.GoAway));
        }
    }

    /// <returns>The status, or 0 where the connection ended instead.</returns>
    private static async Task<int> AskAsync(RawHttpClient visitor, string path, (string Name, string Value)[] fields)
    {
        try
        {
            await visitor.SendRequestAsync(
                path, TunnelFixture.Host, fields: string.Concat(fields.Select(static field => $"{field.Name}: {field.Value}\r\n")));
        }
        catch (IOException)
        {
            // The peer has ended the connection; what it said before may still be there to be read.
        }

        try
        {
            return (await visitor.ReadHeadAsync()).StatusCode;
        }
        catch (IOException)
        {
            return 0;
        }
    }

    private static (string Name, string Value)[] Fields(int count, int length) =>
        [.. Enumerable.Range(0, count).Select(i => ($"x-{i}", Text(length)))];

    private static string Text(int length) => string.Create(length, 0, static (span, _) =>
    {
        for (var i = 0; i < span.Length; i++)
        {
            span[i] = Base64[i * 37 % Base64.Length];
        }
    });

    private async Task WithTunnelAsync(Func<TunnelFixture, Task> test)
    {
        using var certificate = TestCertificate.Create();
        await TunnelFixture.RunAsync(
            async connection =>
            {
                while (true)
                {
                    var head = await connection.ReadHeadAsync();
                    if (head.Target == "/held")
                    {
                        _holding.Increment();
                        await _release.WaitAsync();
                    }

                    await connection.ReadBodyAsync(head, head.Method);
                    await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }
            },
            test,
            new TunnelSetup
            {
                Settings = ["Public:HttpsListen=127.0.0.1:0", $"Public:Certificate={certificate.File}"],
                Patience = TimeSpan.FromSeconds(60),
            });
    }
}
