using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Live;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.ProxyEntry.ClusterView;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>The live view over all nodes, with real nodes, links and database.</summary>
public sealed class ClusterViewTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task Traffic_at_one_node_is_seen_at_another_and_without_a_viewer_there_is_no_feed()
    {
        await using var cluster = await RealCluster.StartAsync(server, 3);
        await cluster.StartAgentAsync(cluster.Options(0, 0));
        Assert.All(cluster.Nodes, static node => Assert.Equal(0, node.Part<ClusterViewer>().Followed));
        using (var viewer = await SubscribeAsync(
            cluster, 2, "cluster.nodes", "cluster.stats", "at.*.session.*.stats", "at.*.node.requests"))
        {
            await AllUpAsync(viewer, 3);
            await using var visitors = SteadyVisitors.StartInTurn(cluster.Nodes[0].Http, 2, ClusterFixture.Host, "/seen");
            var missing = new HashSet<string> { "cluster.stats", "at.e1.session.web.stats", "at.e1.node.requests", "e1 in cluster.nodes" };
            while (missing.Count > 0 && await viewer.ReceiveAsync() is { } message)
            {
                foreach (var (channel, key, data) in Values(message))
                {
                    Assert.NotEqual("at.e2.session.web.stats", channel);
                    var isSeen = channel switch
                    {
                        "cluster.stats" => data.GetProperty("requests").GetInt64() > 0 && data.GetProperty("p99Us").GetInt64() > 0,
                        "at.e1.node.requests" => data.GetProperty("requests").EnumerateArray()
                            .Any(static one => one.GetProperty("target").GetString() == "/seen"),
                        "cluster.nodes" => key == "e1" && data.GetProperty("last").GetProperty("requests").GetInt64() > 0,
                        _ => true,
                    };
                    if (isSeen)
                    {
                        missing.Remove(channel == "cluster.nodes" ? "e1 in cluster.nodes" : channel);
                    }
                }
            }

            Assert.Empty(missing);
            Assert.Equal(3, cluster.Nodes[2].Part<ClusterViewer>().Followed);
            Assert.Equal(0, cluster.Nodes[1].Part<ClusterViewer>().Followed);
            await visitors.StopAsync();
        }

        await WaitSignal.UntilAsync(
            () => cluster.Nodes[2].Part<ClusterViewer>().Followed == 0
                && cluster.Nodes.All(static node => node.Live.Hub!.Connections == 0),
            "no viewer looks, and no feed is left", _long);
    }

    [Fact]
    public async Task A_node_that_stops_is_lost_with_its_last_values_and_not_in_the_sums()
    {
        await using var cluster = await RealCluster.StartAsync(server, 3);
        using var viewer = await SubscribeAsync(cluster, 2, "cluster.nodes");
        await AllUpAsync(viewer, 3);
        await cluster.Nodes[0].StopAsync();
        await StateAsync(viewer, "e1", "lost");
        var other = await StateAsync(viewer, "e2", "up");
        Assert.False(other.GetProperty("here").GetBoolean());
        Assert.True((await StateAsync(viewer, "e3", "up")).GetProperty("here").GetBoolean());
    }

    [Fact]
    public async Task A_node_that_was_lost_before_the_first_look_is_shown_as_lost()
    {
        await using var cluster = await RealCluster.StartAsync(server, 3);
        await AdministeredCluster.KnowsAsync(cluster.Nodes[2], 2);
        await cluster.Nodes[0].StopAsync();
        await AdministeredCluster.KnowsAsync(cluster.Nodes[2], 1);
        var looked = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds();
        using var viewer = await SubscribeAsync(cluster, 2, "cluster.nodes");
        var lost = await StateAsync(viewer, "e1", "lost");
        Assert.Equal("its lease is over", lost.GetProperty("problem").GetString());
        Assert.InRange(lost.GetProperty("heardMs").GetInt64(), looked - 60_000, looked);
        await StateAsync(viewer, "e2", "up");
    }

    [Fact]
    public async Task Two_processes_of_one_name_are_two_nodes_in_every_view()
    {
        await using var cluster = await RealCluster.StartAsync(server, 2);
        using var other = await SubscribeAsync(cluster, 0, "cluster.nodes");
        using var renamed = await SubscribeAsync(cluster, 1, "cluster.nodes", "cluster.info");
        await AllUpAsync(other, 2);
        await AllUpAsync(renamed, 2);
        await cluster.StartAgentAsync(cluster.Options(1, 1));
        await using var twin = await cluster.StartTwinAsync(1);
        foreach (var viewer in new[] { other, renamed })
        {
            // The session is where it was, and the process with the name has none.
            var nodes = new Dictionary<string, JsonElement>();
            var isHere = viewer == renamed;
            while (!nodes.TryGetValue("e2", out var named) || !Is(named, 0, isHere: false)
                || !nodes.Any(node => node.Key.StartsWith("e2~", StringComparison.Ordinal) && Is(node.Value, 1, isHere))
                || (isHere && !(nodes.TryGetValue("cluster", out var info)
                    && info.GetProperty("node").GetString()!.StartsWith("e2~", StringComparison.Ordinal))))
            {
                foreach (var (_, key, data) in Values((await viewer.ReceiveAsync())!.Value))
                {
                    nodes[key] = data;
                }
            }
        }

        using var admin = new HttpClient { BaseAddress = new Uri($"http://{cluster.Nodes[1].Admin}"), Timeout = _long };
        using var answer = JsonDocument.Parse(
            await admin.GetStringAsync(new Uri("/api/v1/sessions", UriKind.Relative), TestContext.Current.CancellationToken));
        Assert.Equal(
            ["e1", "e2", "e2~"],
            answer.RootElement.GetProperty("nodes").EnumerateArray()
                .Select(static node => node.GetProperty("node").GetString()!)
                .Select(static name => name[..Math.Min(3, name.Length)]).Order());

        static bool Is(JsonElement node, int sessions, bool isHere) =>
            node.GetProperty("state").GetString() == "up" && node.GetProperty("sessions").GetInt32() == sessions
                && node.GetProperty("here").GetBoolean() == isHere;
    }

    [Fact]
    public async Task A_stop_waits_for_no_feed_of_another_node()
    {
        await using var cluster = await RealCluster.StartAsync(server, 2, "Timeouts:Drain=60s");
        using var viewer = await SubscribeAsync(cluster, 1, "cluster.nodes");
        await AllUpAsync(viewer, 2);
        await cluster.Nodes[0].StopAsync().WaitAsync(TimeSpan.FromSeconds(50));
    }

    [Theory]
    [InlineData("*live.localhost")]
    [InlineData("*live")]
    [InlineData("live.tunnel2.internal")]
    [InlineData("%2alive.localhost")]
    public async Task No_visitor_reaches_a_feed(string host)
    {
        await using var cluster = await RealCluster.StartAsync(server, 2);
        using var viewer = await SubscribeAsync(cluster, 1, "cluster.nodes");
        await AllUpAsync(viewer, 2);
        await using var visitor = await RawHttpClient.ConnectAsync(cluster.Nodes[1].Http);
        await visitor.SendRequestAsync(
            "/live", host,
            fields: "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
        Assert.InRange((await visitor.ReadHeadAsync()).StatusCode, 400, 499);
    }

    private static async Task<Subscriber> SubscribeAsync(RealCluster cluster, int node, params string[] channels)
    {
        var viewer = await Subscriber.ConnectAsync(cluster.Nodes[node].Admin);
        foreach (var channel in channels)
        {
            await viewer.SubscribeAsync(channel);
        }

        return viewer;
    }

    private static async Task AllUpAsync(Subscriber viewer, int nodes)
    {
        var up = new HashSet<string>();
        while (up.Count < nodes && await viewer.ReceiveAsync() is { } message)
        {
            up.UnionWith(Values(message)
                .Where(static value => value.Channel == "cluster.nodes" && value.Data.GetProperty("state").GetString() == "up")
                .Select(static value => value.Key));
        }

        Assert.Equal(nodes, up.Count);
    }

    private static async Task<JsonElement> StateAsync(Subscriber viewer, string node, string state)
    {
        while (await viewer.ReceiveAsync() is { } message)
        {
            foreach (var (channel, key, data) in Values(message))
            {
                if (channel == "cluster.nodes" && key == node && data.GetProperty("state").GetString() == state)
                {
                    return data;
                }
            }
        }

        throw new InvalidOperationException($"{node} was never {state}");
    }

    private static IEnumerable<(string Channel, string Key, JsonElement Data)> Values(JsonElement message) =>
        message.GetProperty("type").GetString() switch
        {
            "message" => [ValueOf(message, message)],
            "snapshot" => message.GetProperty("messages").EnumerateArray().Select(one => ValueOf(message, one)),
            _ => [],
        };

    private static (string Channel, string Key, JsonElement Data) ValueOf(JsonElement message, JsonElement one) =>
        (message.GetProperty("channel").GetString()!, one.GetProperty("key").GetString()!, one.GetProperty("data"));
}
