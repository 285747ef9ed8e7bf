using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.TestBackend;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>
/// One visitor that gives the edge work without an end, all of it done on the spot, and another beside it. What is looked at is not how
/// fast a visitor is served, because a machine may be slow, but how often the loop looks at its sockets in that time.
/// </summary>
public sealed class PipeliningVisitorTests
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(120);

    [Theory]
    [InlineData("nobody.localhost")]
    [InlineData("small.localhost")]
    public async Task Requests_that_are_answered_on_the_spot_do_not_hold_up_other_visitors(string host)
    {
        const int Requests = 10_000;
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions());
        await using var entry = await EntryFixture.StartAsync(
            null, "Timeouts:Park=off", "Agents:small:TokenHash=" + EntryTokens.HashSetting("t"), "Agents:small:Tier=tiny",
            "Tiers:tiny:RequestsPerSecond=1");

        await using var small = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(entry.Uplink.Port, backend.Port, "small") with { Token = "t" });
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port));
        await using var greedy = await RawHttpClient.ConnectAsync(entry.Http);
        await using var other = await RawHttpClient.ConnectAsync(entry.Http);
        await other.ExchangeAsync("/echo", TunnelFixture.Host);
        var before = entry.Rounds;
        await WhileAsync(
            FloodAsync(greedy, $"GET /{new string('x', 200)} HTTP/1.1\r\nHost: {host}\r\n\r\n", Requests), () => ExchangeAsync(other));
        AssertTookTurns(Requests, entry.Rounds - before);
        entry.Log.AssertNoErrors();
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Requests_without_end_on_one_http2_connection_do_not_hold_up_those_of_another(bool isTls)
    {
        const int Requests = 30_000;
        const int Others = 10;
        using var certificate = TestCertificate.Create();
        await TunnelFixture.RunAsync(
            async tunnel =>
            {
                var endPoint = isTls ? tunnel.Entry.Https : tunnel.Entry.Http;
                var unknown = Http2Visitor.Request(isTls, authority: "nobody.localhost");
                await using var greedy = await Http2Visitor.ConnectAsync(endPoint, isTls);
                await using var other = await Http2Visitor.ConnectAsync(endPoint, isTls);
                Assert.Equal((503, null), await StatusAsync(greedy, unknown));
                Assert.Equal((200, null), await StatusAsync(other, Http2Visitor.Request(isTls, "/echo")));
                var answered = new AsyncCounter("answers to the flood");
                var flood = greedy.FloodAsync(unknown, Requests, answered);
                await answered.WaitForAsync(1);
                for (var i = 0; i < Others; i++)
                {
                    Assert.Equal((200, null), await StatusAsync(other, Http2Visitor.Request(isTls, "/echo")));
                }

                // A visitor that had to wait for the flood's end would find it over.
                Assert.InRange(answered.Value, 1, Requests - 1);
                await flood.WaitAsync(_limit);
            },
            new TunnelSetup
            {
                Settings = ["Timeouts:Park=off", "Public:HttpsListen=127.0.0.1:0", $"Public:Certificate={certificate.File}"],
                Patience = _limit,
            });

        static async Task<(int Status, int? GoAway)> StatusAsync(Http2Visitor visitor, (string Name, string Value)[] request)
        {
            var answer = await visitor.ExchangeAsync(request);
            return (answer.Status, answer.GoAway);
        }
    }

    [Fact]
    public async Task A_body_in_tiny_chunks_does_not_hold_up_other_visitors_and_arrives_whole()
    {
        const int Chunks = 400_000;
        await TunnelFixture.RunAsync(async tunnel =>
        {
            await using var greedy = await tunnel.ConnectAsync();
            await using var other = await tunnel.ConnectAsync();
            await other.ExchangeAsync("/echo", TunnelFixture.Host);
            var before = tunnel.Entry.Rounds;
            await WhileAsync(UploadAsync(), () => ExchangeAsync(other));

            // Chunks that came together are one thing that was read: what counts are the bytes.
            AssertTookTurns(Chunks * 6 / WorkTurn.LoneBytesPerStep, tunnel.Entry.Rounds - before);

            async Task UploadAsync()
            {
                await greedy.WriteAsync($"POST /sink HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nTransfer-Encoding: chunked\r\n\r\n");
                var thousand = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat("1\r\nx\r\n", 1000)));
                for (var i = 0; i < Chunks / 1000; i++)
                {
                    await greedy.WriteAsync(thousand);
                }

                await greedy.WriteAsync("0\r\n\r\n");
                var head = await greedy.ReadFinalHeadAsync();
                var body = await greedy.ReadBodyAsync(head);
                Assert.Contains($"\"bytes\":{Chunks}", body.Text(), StringComparison.Ordinal);
            }
        });
    }

    /// <summary>Where there is a loop. On the pool no connection holds more than one thread of it.</summary>
    private static void AssertTookTurns(int things, long? rounds) =>
        Assert.True(rounds is null || rounds >= things / WorkTurn.Steps, $"{rounds} rounds");

    private static async Task ExchangeAsync(RawHttpClient visitor)
    {
        var (head, _) = await visitor.ExchangeAsync("/echo", TunnelFixture.Host);
        Assert.Equal(200, head.StatusCode);
    }

    /// <summary>Does one thing again and again while another lasts.</summary>
    private static async Task WhileAsync(Task lasting, Func<Task> once)
    {
        while (!lasting.IsCompleted)
        {
            await once();
        }

        await lasting.WaitAsync(_limit);
    }

    private static async Task FloodAsync(RawHttpClient visitor, string request, int count)
    {
        const int AtOnce = 500;
        var sending = Task.Run(async () =>
        {
            var bytes = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat(request, AtOnce)));
            for (var sent = 0; sent < count; sent += AtOnce)
            {
                await visitor.WriteAsync(bytes);
            }
        });
        await Task.Run(async () =>
        {
            var expected = "HTTP/1.1 "u8.ToArray();
            var buffer = new byte[256 * 1024];
            var kept = 0;
            for (var answers = 0; answers < count;)
            {
                var read = await visitor.ReadAsync(buffer.AsMemory(kept));
                Assert.NotEqual(0, read);
                var filled = kept + read;
                var at = 0;
                for (int found; (found = buffer.AsSpan(at, filled - at).IndexOf(expected)) >= 0; at += found + expected.Length)
                {
                    answers++;
                }

                kept = Math.Min(filled - at, expected.Length - 1);
                buffer.AsSpan(filled - kept, kept).CopyTo(buffer);
            }
        });
        await sending.WaitAsync(_limit);
    }
}
