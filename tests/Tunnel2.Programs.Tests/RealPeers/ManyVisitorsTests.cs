using System.Net;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>Many requests on one session: none fails, none gets another's body.</summary>
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
        var tunnel = await tunnels.GetAsync(engine);
        var connections = await Task.WhenAll(
            Enumerable.Range(0, Visitors).Select(_ => RawHttpClient.ConnectAsync(tunnel.Entry.Public)));

        // The backend answers no visitor before all are there. Each has an answer of its own.
        await Task.WhenAll(connections.Select((connection, i) =>
            connection.SendRequestAsync($"/gather/{Visitors}?id={engine}&name={i}", tunnel.Host)));
        await Task.WhenAll(connections.Select(async (connection, i) =>
        {
            using var limit = new CancellationTokenSource(Limits.Work);
            var head = await connection.ReadHeadAsync(limit.Token);
            Assert.Equal(200, head.StatusCode);
            var body = await connection.ReadBodyAsync(head, cancellationToken: limit.Token);
            Assert.Equal($"{i}", body.Text);
        }));
        foreach (var connection in connections)
        {
            await connection.DisposeAsync();
        }
    }
}
