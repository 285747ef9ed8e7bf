using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Backends;

/// <summary>Bytes that a backend sends after its answers, at once or late, are no request's answer.</summary>
public sealed class SurplusTests
{
    private const int Visitors = 64;

    private static readonly int _requests = Number("TUNNEL2_SURPLUS_REQUESTS", 6000);

    /// <summary>Over TLS: a handshake for nearly every request costs ten times a request.</summary>
    private static readonly int _tlsRequests = Number("TUNNEL2_SURPLUS_TLS_REQUESTS", 1500);

    private static readonly string[] _kinds =
    [
        "GET /body", "HEAD /head", "GET /204", "GET /304", "POST /body", "POST /empty", "GET /chunked", "DELETE /body",
    ];

    /// <summary>Kind by kind, how late in milliseconds.</summary>
    public static TheoryData<string, int> KindsAndDelays =>
        [.. _kinds.SelectMany(static kind => new[] { 0, 20, 150 }.Select(delay => (TheoryDataRow<string, int>)new(kind, delay)))];

    [Theory]
    [MemberData(nameof(KindsAndDelays))]
    public async Task The_next_visitor_gets_an_answer_of_its_own(string kind, int delay)
    {
        using var backend = new LateBackend(() => TimeSpan.FromMilliseconds(delay));
        await TunnelFixture.RunAsync(
            backend.ServeAsync,
            async tunnel =>
            {
                for (var i = 0; i < 4; i++)
                {
                    await using var visitor = await tunnel.ConnectAsync();
                    Assert.Null(await AskAsync(visitor, kind, i));
                    Assert.Null(await AskAsync(visitor, "GET /body", 100 + i));
                }
            },
            new TunnelSetup { Agent = Doubting });
    }

    /// <remarks>load-tests/surplus/run.sh sends 100,000 requests to each.</remarks>
    [Theory]
    [InlineData(1.0, false, false)]
    [InlineData(0.1, false, false)]
    [InlineData(0.3, true, false)]
    [InlineData(1.0, false, true)]
    public async Task Under_load_no_visitor_ever_gets_a_byte_of_an_earlier_answer(double share, bool answersMeanwhile, bool usesTls)
    {
        var random = new Random(7);
        using var backend = new LateBackend(NextDelay, answersMeanwhile, usesTls);
        await TunnelFixture.RunAsync(
            backend.ServeAsync,
            async tunnel =>
            {
                var wrong = new ConcurrentQueue<string>();
                var count = usesTls ? _tlsRequests : _requests;
                var next = 0;
                var clock = Stopwatch.StartNew();
                await Task.WhenAll(Enumerable.Range(0, Visitors).Select(_ => Task.Run(async () =>
                {
                    await using var visitor = await tunnel.ConnectAsync();
                    for (int i; (i = Interlocked.Increment(ref next)) <= count && wrong.Count < 20;)
                    {
                        if (await AskAsync(visitor, _kinds[i % _kinds.Length], i) is { } mistake)
                        {
                            wrong.Enqueue(mistake);
                        }
                    }
                })));
                TestContext.Current.TestOutputHelper?.WriteLine(string.Create(
                    CultureInfo.InvariantCulture,
                    $"share {share}, {(answersMeanwhile ? "answering meanwhile" : "one by one")}, {(usesTls ? "TLS" : "plain")}: {count} "
                        + $"requests in {clock.Elapsed.TotalSeconds:0.0} s, {tunnel.RawBackend.ConnectionsAccepted.Value} connections, "
                        + $"surplus sent {backend.Sent.Value} times, {wrong.Count} wrong answers"));
                Assert.Empty(wrong);
                Assert.True(backend.Sent.Value > 0);
            },
            new TunnelSetup
            {
                Agent = options => Doubting(options) with { Upstream = options.Upstream with { IsHttps = usesTls } },
                Patience = TimeSpan.FromSeconds(60 + (Math.Max(_requests, _tlsRequests) / 100)),
            });

        TimeSpan? NextDelay()
        {
            lock (random)
            {
                return random.NextDouble() < share ? TimeSpan.FromMilliseconds(random.Next(201)) : null;
            }
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task What_comes_on_an_idle_connection_ends_it_at_once(bool usesTls)
    {
        using var backend = new LateBackend(() => TimeSpan.FromMilliseconds(300), usesTls: usesTls);
        await TunnelFixture.RunAsync(
            backend.ServeAsync,
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                Assert.Null(await AskAsync(visitor, "GET /body", 1));
                await tunnel.RawBackend.ConnectionsDone.WaitForAsync(1);
            },

            // The agent's clock is stopped: nothing that looks around now and then does it.
            new TunnelSetup
            {
                AgentTime = new ManualTimeProvider(),
                Agent = options => options with { Upstream = options.Upstream with { IsHttps = usesTls } },
            });
    }

    [Fact]
    public Task A_connection_that_the_backend_ends_is_closed_at_once() => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            await connection.ShutdownSendAsync();
            Assert.Equal(ConnectionEnding.Fin, await connection.WaitForEndAsync());
        },
        async tunnel =>
        {
            await tunnel.ExchangeAsync("/");
            await tunnel.RawBackend.ConnectionsDone.WaitForAsync(1);
        },
        new TunnelSetup { AgentTime = new ManualTimeProvider() });

    [Theory]
    [InlineData("GET", "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 200)]
    [InlineData("GET", "HTTP/1.0 408 Request Time-out\r\n\r\n<html>", 200)]
    [InlineData("POST", "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n", 502)]
    [InlineData("GET", "<p>the rest of a body", 200)]
    [InlineData("POST", "<p>the rest of a body", 502)]
    [InlineData("GET", "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforeign", 200)]
    public Task What_crosses_a_request_on_a_kept_connection_is_not_its_answer(string method, string crossing, int status)
    {
        var connections = 0;
        return TunnelFixture.RunAsync(
            async connection =>
            {
                var isFirst = Interlocked.Increment(ref connections) == 1;
                await connection.ReadHeadAsync();
                await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                await connection.ReadHeadAsync();
                await connection.WriteAsync(isFirst ? crossing : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.ExchangeAsync("/first", TunnelFixture.Host);
                var (head, body) = await visitor.ExchangeAsync(
                    "/second", TunnelFixture.Host, method, method == "POST" ? "Content-Length: 0\r\n" : "");
                Assert.Equal(status, head.StatusCode);
                Assert.DoesNotContain("foreign", body.Text(), StringComparison.Ordinal);
                Assert.Equal(status == 502, head["Tunnel2-Error"] is not null);
            });
    }

    [Theory]
    [InlineData("no answer at all\n", 502)]
    [InlineData("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 4\r\n\r\nslow", 408)]
    public Task A_service_that_answers_so_on_a_new_connection_too_is_not_caught(string answer, int status) => TunnelFixture.RunAsync(
        async connection =>
        {
            while ((await connection.ReadHeadAsync()).Target != "/bad")
            {
                await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            }

            await connection.WriteAsync(answer);
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            foreach (var (target, expected) in new[] { ("/first", 200), ("/bad", status), ("/second", 200), ("/third", 200) })
            {
                var (head, _) = await visitor.ExchangeAsync(target, TunnelFixture.Host);
                Assert.Equal(expected, head.StatusCode);
            }

            // One that was kept, a new one for the same question, and one that both of the last requests share.
            Assert.Equal(3, tunnel.RawBackend.ConnectionsAccepted.Value);
        });

    [Fact]
    public Task One_answer_that_is_no_http_costs_kept_connections_for_seconds_alone()
    {
        var time = new ManualTimeProvider();
        return TunnelFixture.RunAsync(
            async connection =>
            {
                while ((await connection.ReadHeadAsync()).Target != "/bad")
                {
                    await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }

                await connection.WriteAsync("no answer at all\n");
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.ExchangeAsync("/first", TunnelFixture.Host);
                var (bad, _) = await visitor.ExchangeAsync("/bad", TunnelFixture.Host, "POST", "Content-Length: 0\r\n");
                Assert.Equal(502, bad.StatusCode);
                await visitor.ExchangeAsync("/new", TunnelFixture.Host);
                Assert.Equal(2, tunnel.RawBackend.ConnectionsAccepted.Value);
                await tunnel.RawBackend.ConnectionsDone.WaitForAsync(2);

                time.Advance(TimeSpan.FromSeconds(6));
                await visitor.ExchangeAsync("/later", TunnelFixture.Host);
                time.Advance(TimeSpan.FromMilliseconds(300));
                await visitor.ExchangeAsync("/kept", TunnelFixture.Host);
                Assert.Equal(3, tunnel.RawBackend.ConnectionsAccepted.Value);
            },
            new TunnelSetup { AgentTime = time });
    }

    [Fact]
    public Task A_service_that_answers_properly_on_a_new_connection_is_caught_at_the_head()
    {
        var connections = 0;
        return TunnelFixture.RunAsync(
            async connection =>
            {
                var isFirst = Interlocked.Increment(ref connections) == 1;
                while ((await connection.ReadHeadAsync()).Target != "/endless")
                {
                    await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }

                await connection.WriteAsync(
                    isFirst ? "<p>the rest of a body" : "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
                await connection.WaitForEndAsync();
            },
            async tunnel =>
            {
                await tunnel.ExchangeAsync("/first");
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.SendRequestAsync("/endless", TunnelFixture.Host);
                Assert.Equal(200, (await visitor.ReadFinalHeadAsync()).StatusCode);
                await tunnel.ExchangeAsync("/second");
                await tunnel.ExchangeAsync("/third");
                Assert.Equal(4, tunnel.RawBackend.ConnectionsAccepted.Value);
            });
    }

    [Fact]
    public Task A_408_to_a_request_that_was_slow_is_an_answer() => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 4\r\n\r\nslow");
            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.ExchangeAsync("/first", TunnelFixture.Host);
            await visitor.WriteAsync($"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 10\r\n\r\nhalf");
            var head = await visitor.ReadFinalHeadAsync();
            Assert.Equal((408, null), (head.StatusCode, head["Tunnel2-Error"]));
        });

    [Theory]
    [InlineData("Content-Length: 4\r\n", "body")]
    [InlineData("Transfer-Encoding: chunked\r\n", "4\r\nbody\r\n0\r\n\r\n")]
    public Task A_connection_that_answered_before_the_request_was_there_is_not_used_again(
        string fields, string body) => TunnelFixture.RunAsync(
        async connection =>
        {
            var head = await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            if (head.Method == "POST")
            {
                // Takes the body for a request, as backends do that have not read it.
                await connection.ReadThroughAsync("body");
                await connection.WriteAsync("HTTP/1.1 400 Bad Request\r\nContent-Length: 7\r\n\r\nforeign");
            }

            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync($"POST /early HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\n{fields}\r\n");
            var head = await visitor.ReadFinalHeadAsync();
            Assert.Equal(200, head.StatusCode);
            await visitor.WriteAsync(body);
            var (other, text) = await tunnel.ExchangeAsync("/other");
            Assert.Equal((200, "ok"), (other.StatusCode, text.Text()));
        });

    [Fact]
    public async Task Over_tls_kept_connections_are_used_again()
    {
        using var backend = new LateBackend(static () => null, usesTls: true);
        await TunnelFixture.RunAsync(
            backend.ServeAsync,
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                for (var i = 0; i < 20; i++)
                {
                    Assert.Null(await AskAsync(visitor, _kinds[i % _kinds.Length], i));
                }

                // On the pool a connection may come back a moment after its answer.
                Assert.InRange(tunnel.RawBackend.ConnectionsAccepted.Value, 1, 6);
            },
            new TunnelSetup { Agent = static options => options with { Upstream = options.Upstream with { IsHttps = true } } });
    }

    /// <summary>The agent as it ships: it has yet to see how the backend ends its responses.</summary>
    private static AgentOptions Doubting(AgentOptions options) => options with { TrustsBackend = false };

    /// <summary>Asks, and reads an answer.</summary>
    /// <returns>What is wrong with it, or null.</returns>
    private static async Task<string?> AskAsync(RawHttpClient visitor, string kind, int number)
    {
        var words = kind.Split(' ');
        var target = $"{words[1]}/{number}";
        await visitor.WriteAsync(
            $"{words[0]} {target} HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\n"
                + $"{(words[0] == "POST" ? "Content-Length: 4\r\n\r\nbody" : "\r\n")}");
        var head = await visitor.ReadFinalHeadAsync();
        var body = (await visitor.ReadBodyAsync(head, words[0])).Text();
        var expected = words[0] == "HEAD" || words[1] is "/204" or "/304" or "/empty" ? "" : target;
        return head["X-Target"] == target && body == expected ? null : $"{kind}/{number}: {head.Text}{body}";
    }

    private static int Number(string variable, int normally) =>
        int.Parse(
            Environment.GetEnvironmentVariable(variable) ?? normally.ToString(CultureInfo.InvariantCulture), CultureInfo.InvariantCulture);
}
