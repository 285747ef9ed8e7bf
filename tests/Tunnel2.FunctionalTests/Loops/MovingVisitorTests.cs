using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;

namespace Tunnel2.FunctionalTests.Loops;

/// <summary>A visitor's HTTP/1.1 connection goes to the event loop of its session, once, and loses nothing on the way.</summary>
public sealed class MovingVisitorTests
{
    private const int Requests = 10;

    public static TheoryData<string> Kinds => ["HTTP/1.1", "HTTP/1.1 over TLS"];

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task It_moves_once_for_each_session_and_stays(string kind)
    {
        SkipWithoutLoops();
        await RunAsync(kind, async (entry, backend) =>
        {
            var visitors = new List<RawHttpClient>();
            await using (var first = await AgentAsync(entry, backend, "web"))
            {
                var home = LoopVisitors.LoopOf(entry, "web");
                foreach (var loop in entry.Loops)
                {
                    visitors.Add(await LoopVisitors.OnAsync(entry, loop, () => ConnectAsync(kind, entry)));
                }

                await AskAllAsync(visitors);
                Assert.Equal((2, 0), LoopVisitors.Counts(entry));

                // All of them, the uplink and the listener or two.
                Assert.True(home.HandleCount >= visitors.Count + 2, $"{home.HandleCount} handles");
            }

            await using (var second = await AgentAsync(entry, backend, "other"))
            await using (var third = await AgentAsync(entry, backend, "web"))
            {
                // The uplinks are dealt out in turn: the second agent has taken the next loop, the third has the last one.
                Assert.Equal(entry.Loops.Skip(1), new[] { LoopVisitors.LoopOf(entry, "other"), LoopVisitors.LoopOf(entry, "web") });
                await AskAllAsync(visitors);
                Assert.Equal((2 + visitors.Count, 0), LoopVisitors.Counts(entry));
            }

            foreach (var visitor in visitors)
            {
                await visitor.DisposeAsync();
            }
        });
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task Requests_that_came_together_go_along_and_are_answered_in_order(string kind)
    {
        SkipWithoutLoops();
        await RunAsync(kind, async (entry, backend) =>
        {
            await using var agent = await AgentAsync(entry, backend, "web");
            foreach (var loop in entry.Loops.Where(loop => loop != LoopVisitors.LoopOf(entry, "web")))
            {
                var (moved, _) = LoopVisitors.Counts(entry);
                await using var visitor = await LoopVisitors.OnAsync(entry, loop, () => ConnectAsync(kind, entry));
                var requests = new StringBuilder();
                for (var i = 0; i < Requests; i++)
                {
                    // Every other one with a body, which is read in part before the connection moves.
                    requests.Append(i % 2 == 0
                        ? $"GET /{i} HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\n\r\n"
                        : $"POST /{i} HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: {1000 * i}\r\n\r\n{Body(i)}");
                }

                // The last request's body comes in two halves, the second one when all others are answered.
                var text = requests.ToString();
                await visitor.WriteAsync(text[..^500]);
                for (var i = 0; i < Requests; i++)
                {
                    if (i == Requests - 1)
                    {
                        await visitor.WriteAsync(text[^500..]);
                    }

                    var head = await visitor.ReadFinalHeadAsync();
                    var body = await visitor.ReadBodyAsync(head);
                    Assert.Equal($"{TunnelFixture.Host} /{i} {(i % 2 == 0 ? "" : Body(i))}", body.Text());
                }

                Assert.Equal((moved + 1, 0), LoopVisitors.Counts(entry));
            }
        });
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task A_body_whose_first_half_came_with_its_head_arrives_whole(string kind)
    {
        SkipWithoutLoops();
        await RunAsync(kind, async (entry, backend) =>
        {
            await using var agent = await AgentAsync(entry, backend, "web");
            var loop = entry.Loops.First(loop => loop != LoopVisitors.LoopOf(entry, "web"));
            await using var visitor = await LoopVisitors.OnAsync(entry, loop, () => ConnectAsync(kind, entry));
            var body = Body(7);
            await visitor.WriteAsync(
                $"POST /up HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nTransfer-Encoding: chunked\r\n\r\nbb8\r\n{body[..3000]}\r\nfa0\r\n"
                    + $"{body[3000..3500]}");
            await WaitSignal.UntilAsync(() => LoopVisitors.Counts(entry).Moved == 1, "the connection has moved");
            await visitor.WriteAsync($"{body[3500..]}\r\n0\r\n\r\n");
            var head = await visitor.ReadFinalHeadAsync();
            Assert.Equal($"{TunnelFixture.Host} /up {body}", (await visitor.ReadBodyAsync(head)).Text());
            Assert.Equal((1, 0), LoopVisitors.Counts(entry));
        });
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task A_visitor_that_alternates_between_names_of_different_loops_gets_the_right_answers(string kind)
    {
        SkipWithoutLoops();
        await RunAsync(kind, async (entry, backend) =>
        {
            await using var web = await AgentAsync(entry, backend, "web");
            await using var other = await AgentAsync(entry, backend, "other");
            Assert.NotSame(LoopVisitors.LoopOf(entry, "web"), LoopVisitors.LoopOf(entry, "other"));
            await using var visitor = await LoopVisitors.OnAsync(
                entry, LoopVisitors.LoopOf(entry, "other"), () => ConnectAsync(kind, entry));
            for (var i = 0; i < Requests; i++)
            {
                await LoopVisitors.ExchangeAsync(visitor, $"/{i}");
                await LoopVisitors.ExchangeAsync(visitor, $"/{i}", "other.localhost");
            }

            var (moved, crossed) = LoopVisitors.Counts(entry);
            Assert.Equal(2 * Requests, moved + crossed);

            // And the same where all of it comes at once.
            var requests = string.Concat(
                Enumerable.Range(0, Requests).Select(
                    static i => $"GET /{i} HTTP/1.1\r\nHost: {(i % 2 == 0 ? "web" : "other")}.localhost\r\n\r\n"));
            await visitor.WriteAsync(requests);
            for (var i = 0; i < Requests; i++)
            {
                var head = await visitor.ReadFinalHeadAsync();
                Assert.Equal($"{(i % 2 == 0 ? "web" : "other")}.localhost /{i} ", (await visitor.ReadBodyAsync(head)).Text());
            }
        });
    }

    [Fact]
    public async Task Where_there_is_one_loop_nothing_moves_and_nothing_crosses() => await RunAsync(
        "HTTP/1.1 over TLS",
        async (entry, backend) =>
        {
            await using var web = await AgentAsync(entry, backend, "web");
            await using var other = await AgentAsync(entry, backend, "other");
            foreach (var kind in new[] { "HTTP/1.1", "HTTP/1.1 over TLS" })
            {
                await using var visitor = await ConnectAsync(kind, entry);
                for (var i = 0; i < Requests; i++)
                {
                    await LoopVisitors.ExchangeAsync(visitor, $"/{i}");
                    await LoopVisitors.ExchangeAsync(visitor, $"/{i}", "other.localhost");
                }
            }

            await CrossingStreamTests.AskAsync(entry, isTls: true, Requests);
            await CrossingStreamTests.AskAsync(entry, isTls: false, Requests);
            Assert.Equal((0, 0), LoopVisitors.Counts(entry));
        },
        "Loops=1");

    internal static void SkipWithoutLoops() =>
        Assert.SkipUnless(EngineSetup.HasEpoll && !TestEngine.IsPortable, "This engine has no loops.");

    internal static async Task RunAsync(string kind, Func<EntryFixture, RawTcpServer, Task> test, string loops = LoopVisitors.Three)
    {
        await using var backend = RawTcpServer.Start(LoopVisitors.ServeAsync);
        using var certificate = TestCertificate.Create();
        string[] tls = kind.EndsWith("TLS", StringComparison.Ordinal)
            ? ["Public:HttpsListen=127.0.0.1:0", $"Public:Certificate={certificate.File}"]
            : [];
        await using var entry = await EntryFixture.StartAsync(null, [loops, .. tls]);
        await test(entry, backend);
        await entry.StopAsync();
        entry.Log.AssertNoErrors();
    }

    internal static Task<AgentFixture> AgentAsync(EntryFixture entry, RawTcpServer backend, string name) => AgentFixture.StartReadyAsync(
        AgentFixture.Options(entry.Uplink.Port, backend.Port, name) with { Uplinks = UplinkPolicy.Fixed(1) });

    private static string Body(int i) => new((char)('a' + i), 1000 * i);

    private static Task<RawHttpClient> ConnectAsync(string kind, EntryFixture entry) => kind.EndsWith("TLS", StringComparison.Ordinal)
        ? RawHttpClient.ConnectTlsAsync(entry.Https, TunnelFixture.Host)
        : RawHttpClient.ConnectAsync(entry.Http);

    private static async Task AskAllAsync(List<RawHttpClient> visitors)
    {
        for (var i = 0; i < Requests; i++)
        {
            await Task.WhenAll(visitors.Select(visitor => LoopVisitors.ExchangeAsync(visitor, $"/{i}")));
        }
    }
}
