using System.Diagnostics;
using System.Globalization;
using System.Net;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>Many requests on one session: none fails, none gets another's body.</summary>
[Collection(RealProcessesCollection.Name)]
public sealed class ManyVisitorsTests(SharedTunnels tunnels)
{
    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task A_thousand_parallel_requests_get_each_its_own_body(string engine)
    {
        var tunnel = await tunnels.GetAsync(engine);
        using var client = tunnel.CreateClient();

        await Task.WhenAll(Enumerable.Range(0, 1000).Select(i => i % 2 == 0 ? DownloadAsync(i * 37) : EchoAsync(i * 53)));

        async Task DownloadAsync(int length)
        {
            var body = await client.GetByteArrayAsync(new Uri($"{tunnel.Url}/bytes/{length}"));
            Assert.Equal(length, body.Length);
            PatternBytes.Verify(body, 0);
        }

        async Task EchoAsync(int length)
        {
            // A part of the pattern of its own for each request, so that another's body would be seen.
            var sent = PatternBytes.Window(length, length).ToArray();
            using var content = new ByteArrayContent(sent);
            using var response = await client.PostAsync(new Uri($"{tunnel.Url}/echo"), content);
            Assert.Equal(HttpStatusCode.OK, response.StatusCode);
            Assert.Equal(sent, await response.Content.ReadAsByteArrayAsync());
        }
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task Two_thousand_visitors_wait_at_the_same_time_and_all_are_served(string engine)
    {
        const int Visitors = 2000;
        const int LeastDelay = 5000;
        var tunnel = await tunnels.GetAsync(engine);
        var connections = await Task.WhenAll(
            Enumerable.Range(0, Visitors).Select(_ => RawHttpClient.ConnectAsync(tunnel.Entry.Public)));
        var clock = Stopwatch.StartNew();

        // Each asks for another delay, which is the body of its answer: 5.000 to 6.999 s.
        await Task.WhenAll(connections.Select((connection, i) =>
            connection.SendRequestAsync($"/delay/{LeastDelay + i}", tunnel.Host)));
        var allSent = clock.ElapsedMilliseconds;
        var answered = await Task.WhenAll(connections.Select(async (connection, i) =>
        {
            using var limit = new CancellationTokenSource(Limits.Work);
            var head = await connection.ReadHeadAsync(limit.Token);
            var at = clock.ElapsedMilliseconds;
            Assert.Equal(200, head.StatusCode);
            var body = await connection.ReadBodyAsync(head, cancellationToken: limit.Token);
            Assert.Equal(string.Create(CultureInfo.InvariantCulture, $"waited {LeastDelay + i} ms\n"), body.Text);
            return at;
        }));

        TestContext.Current.TestOutputHelper?.WriteLine(
            $"all sent after {allSent} ms, first answer after {answered.Min()} ms, last after {answered.Max()} ms");
        Assert.True(
            allSent < answered.Min(),
            $"The last request was sent after {allSent} ms, when there had been an answer for {answered.Min()} ms.");
        foreach (var connection in connections)
        {
            await connection.DisposeAsync();
        }
    }
}
