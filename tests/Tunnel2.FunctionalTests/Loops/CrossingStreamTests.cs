using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;

namespace Tunnel2.FunctionalTests.Loops;

/// <summary>Streams of one HTTP/2 connection stay on its loop, wherever their uplinks are.</summary>
public sealed class CrossingStreamTests
{
    private const int Streams = 12;

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task They_cross_to_an_uplink_of_another_loop_and_only_then(bool isTls)
    {
        MovingVisitorTests.SkipWithoutLoops();
        await MovingVisitorTests.RunAsync(isTls ? "TLS" : "", async (entry, backend) =>
        {
            await using var web = await MovingVisitorTests.AgentAsync(entry, backend, "web");
            await using var other = await MovingVisitorTests.AgentAsync(entry, backend, "other");
            var crossed = 0;
            foreach (var loop in entry.Loops)
            {
                await using var visitor = await LoopVisitors.OnAsync(
                    entry, loop, () => Http2Visitor.ConnectAsync(isTls ? entry.Https : entry.Http, isTls));
                await AskAsync(visitor, isTls, Streams);

                // Half of the streams are for each name.
                crossed += (loop == LoopVisitors.LoopOf(entry, "web") ? 0 : Streams / 2)
                    + (loop == LoopVisitors.LoopOf(entry, "other") ? 0 : Streams / 2);
                Assert.Equal((0, crossed), LoopVisitors.Counts(entry));
            }

            Assert.Equal(Streams * 2, crossed);
        });
    }

    /// <summary>Asks both names on a connection of HTTP/2, all at once, and compares the answers.</summary>
    internal static async Task AskAsync(EntryFixture entry, bool isTls, int count)
    {
        await using var visitor = await Http2Visitor.ConnectAsync(isTls ? entry.Https : entry.Http, isTls);
        await AskAsync(visitor, isTls, count);
    }

    private static Task AskAsync(Http2Visitor visitor, bool isTls, int count) => Task.WhenAll(Enumerable.Range(0, count).Select(async i =>
    {
        var host = i % 2 == 0 ? "web.localhost" : "other.localhost";
        var body = new string((char)('a' + i), 5_000 * i);
        var stream = await visitor.OpenAsync(
            [(":method", "POST"), (":scheme", isTls ? "https" : "http"), (":authority", host), (":path", $"/{i}")]);
        await stream.WriteAsync(Encoding.ASCII.GetBytes(body), end: true);
        Assert.Equal(200, (await stream.ReadAnswerAsync()).Status);
        Assert.Equal($"{host} /{i} {body}", Encoding.Latin1.GetString(await stream.ReadToEndAsync()));
    }));
}
