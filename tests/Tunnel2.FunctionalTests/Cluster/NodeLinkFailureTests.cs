using Tunnel2.FunctionalTests.Harness;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>What a visitor gets when a node, a link or a session is not where it was.</summary>
[Trait("Engine", "each")]
public sealed class NodeLinkFailureTests
{
    private const int LinkClosed = 2182;
    private const int AcceptedLinkClosed = 2185;
    private const int LinkFailed = 2183;
    private const int LinkRefused = 2186;

    [Fact]
    public Task A_response_whose_node_dies_is_cut_and_never_looks_complete() => ClusterFixture.RunAsync(
        BeginAsync,
        static async cluster =>
        {
            await using var proxy = CuttingProxy.Start(cluster.Owner.Part<NodeLinkListener>().EndPoint);
            Through(cluster, proxy);
            await using var visitor = await cluster.ConnectAsync();
            await visitor.SendRequestAsync("/", ClusterFixture.Host);
            var head = await visitor.ReadHeadAsync();
            var body = visitor.OpenBody(head);
            var buffer = new byte[3];
            Assert.Equal(3, await body.ReadAsync(buffer));
            proxy.CutAll(CutMode.Reset);
            Assert.Equal(0, await body.ReadAsync(buffer));
            Assert.NotEqual(ConnectionEnding.Complete, body.Ending);

            // The next request finds a new link.
            await using var next = await cluster.ConnectAsync();
            await next.SendRequestAsync("/", ClusterFixture.Host);
            Assert.Equal(200, (await next.ReadHeadAsync()).StatusCode);
        });

    [Fact]
    public Task A_request_whose_node_dies_before_the_answer_gets_a_502_that_names_the_leg() => ClusterFixture.RunAsync(
        static async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WaitForEndAsync();
        },
        static async cluster =>
        {
            await using var proxy = CuttingProxy.Start(cluster.Owner.Part<NodeLinkListener>().EndPoint);
            Through(cluster, proxy);
            await using var visitor = await cluster.ConnectAsync();
            await visitor.SendRequestAsync("/", ClusterFixture.Host);
            await WaitSignal.UntilAsync(
                () => cluster.Owner.Session.Tunnel.OpenStreams == 1, "the request is at the agent");
            proxy.CutAll(CutMode.Reset);
            var head = await visitor.ReadHeadAsync();
            Assert.Equal((502, "node-lost"), (head.StatusCode, head["Tunnel2-Error"]));
            Assert.Contains(
                cluster.Front.Log.All,
                line => line.Text.Contains($"(node {cluster.PlaceOf(0).NodeId}): node-lost", StringComparison.Ordinal));
        });

    [Fact]
    public Task A_peer_that_is_silent_is_found_by_its_missing_answers() => ClusterFixture.RunAsync(
        BeginAsync,
        static async cluster =>
        {
            await using var proxy = CuttingProxy.Start(cluster.Owner.Part<NodeLinkListener>().EndPoint);
            Through(cluster, proxy);
            await using var visitor = await cluster.ConnectAsync();
            await visitor.SendRequestAsync("/", ClusterFixture.Host);
            var body = visitor.OpenBody(await visitor.ReadHeadAsync());
            var buffer = new byte[3];
            Assert.Equal(3, await body.ReadAsync(buffer));
            proxy.BlackHole(RelayDirection.Both);
            Assert.Equal(0, await body.ReadAsync(buffer));
            Assert.NotEqual(ConnectionEnding.Complete, body.Ending);
            await cluster.Front.Log.WaitForAsync(LinkClosed);

            // Both listen for the other. Who notices first closes the connection, and that may be what the other one sees.
            await cluster.Owner.Log.WaitForAsync(AcceptedLinkClosed);
            Assert.Contains(
                cluster.Front.Log.All.Concat(cluster.Owner.Log.All),
                static line => line.EventId is LinkClosed or AcceptedLinkClosed
                    && line.Text.Contains("PeerSilent", StringComparison.Ordinal));
        });

    [Fact]
    public Task A_session_that_has_moved_is_tried_once_at_its_new_node() => ClusterFixture.RunAsync(
        static async connection =>
        {
            while (true)
            {
                var head = await connection.ReadHeadAsync();
                var body = await connection.ReadBodyAsync(head);
                await connection.WriteAsync($"HTTP/1.1 200 OK\r\nX-Got: {body.Text}\r\nContent-Length: 2\r\n\r\nok");
            }
        },
        static async cluster =>
        {
            // The front believes that the session is at e2, which has none; the truth is e1.
            var old = cluster.PlaceOf(1, epoch: 77);
            cluster.Knowledge.Know("web", old);
            var (head, body) = await cluster.ExchangeAsync(fields: "");
            Assert.Equal((200, "ok"), (head.StatusCode, body.Text));
            Assert.Equal((1, 1), (cluster.Knowledge.Forgotten.Value, cluster.Knowledge.Asked.Value));

            // With a body, of which nothing is lost on the way.
            cluster.Knowledge.Know("web", old);
            await using var visitor = await cluster.ConnectAsync();
            await visitor.WriteAsync($"POST / HTTP/1.1\r\nHost: {ClusterFixture.Host}\r\nContent-Length: 4\r\n\r\nbody");
            Assert.Equal("body", (await visitor.ReadHeadAsync())["X-Got"]);
            Assert.Equal(2, ClusterFixture.Sum(cluster.Nodes[1], "tunnel2_entry_node_hops_refused_total"));
        },
        nodes: 3);

    [Fact]
    public Task A_session_that_is_nowhere_is_waited_for_and_then_a_503() => ClusterFixture.RunAsync(
        static _ => Task.CompletedTask,
        static async cluster =>
        {
            foreach (var locator in cluster.Locators)
            {
                locator.Truth.Clear();
            }

            cluster.Knowledge.Know("web", cluster.PlaceOf(1, epoch: 77));
            var (head, _) = await cluster.ExchangeAsync();
            Assert.Equal((503, "agent-offline"), (head.StatusCode, head["Tunnel2-Error"]));
        },
        nodes: 3,
        "Timeouts:Park=200ms");

    [Fact]
    public Task A_request_that_waits_finds_its_agent_at_another_node() => ClusterFixture.RunAsync(
        ClusterFixture.ServeOkAsync,
        static async cluster =>
        {
            cluster.Knowledge.Truth.TryRemove("web", out var place);
            await using var visitor = await cluster.ConnectAsync();
            await visitor.SendRequestAsync("/", ClusterFixture.Host);
            await cluster.Front.WaitForParkedAsync(1);
            cluster.Knowledge.Truth["web"] = place;
            Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
        },
        2,
        "Timeouts:Park=50s");

    [Fact]
    public Task A_request_waits_when_the_node_of_its_session_is_gone() => ClusterFixture.RunAsync(
        ClusterFixture.ServeOkAsync,
        static async cluster =>
        {
            var (visitor, place) = await AwayAsync(cluster);
            cluster.Knowledge.Truth["web"] = place with { LinkAddress = $"127.0.0.1:{FreePort.Next()}", Epoch = place.Epoch + 1 };
            await visitor.SendRequestAsync("/", ClusterFixture.Host);
            await cluster.Front.WaitForParkedAsync(1);
            cluster.Knowledge.Truth["web"] = place;
            Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
        },
        2,
        "Timeouts:Park=5s");

    [Fact]
    public Task A_request_waits_for_a_session_that_registers_at_this_node() => ClusterFixture.RunAsync(
        ClusterFixture.ServeOkAsync,
        static async cluster =>
        {
            var (visitor, place) = await AwayAsync(cluster);
            cluster.Knowledge.Shared["web"] = new NodePlaces(place) { IsHere = true };
            await visitor.SendRequestAsync("/", ClusterFixture.Host);
            await cluster.Front.WaitForParkedAsync(1);
            await using var agent = await AgentFixture.StartReadyAsync(
                AgentFixture.Options(cluster.Front.Uplink.Port, cluster.Service));
            Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
        },
        2,
        "Timeouts:Park=5s");

    [Fact]
    public Task A_request_that_comes_to_a_node_a_moment_before_the_session_is_tried_there_again() => ClusterFixture.RunAsync(
        ClusterFixture.ServeOkAsync,
        static async cluster =>
        {
            // The cluster's database knows the registration before the node itself does.
            cluster.Knowledge.Truth["web"] = cluster.PlaceOf(1, epoch: 50);
            await using var visitor = await cluster.ConnectAsync();
            await visitor.SendRequestAsync("/", ClusterFixture.Host);
            await cluster.Front.WaitForParkedAsync(1);
            await using var agent = await AgentFixture.StartReadyAsync(
                AgentFixture.Options(cluster.Nodes[1].Uplink.Port, cluster.Service));
            Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
        },
        3,
        "Timeouts:Park=50s");

    [Fact]
    public Task A_request_that_waits_is_tried_at_a_node_that_has_refused_it_many_times() => ClusterFixture.RunAsync(
        ClusterFixture.ServeOkAsync,
        static async cluster =>
        {
            cluster.Knowledge.Truth["web"] = cluster.PlaceOf(1, epoch: 50);
            await using var visitor = await cluster.ConnectAsync();
            await visitor.SendRequestAsync("/", ClusterFixture.Host);
            await cluster.Nodes[1].UntilAsync(
                () => ClusterFixture.Sum(cluster.Nodes[1], "tunnel2_entry_node_hops_refused_total") >= 5, "the node has refused it often");
            await using var agent = await AgentFixture.StartReadyAsync(
                AgentFixture.Options(cluster.Nodes[1].Uplink.Port, cluster.Service));
            Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
        },
        3,
        "Timeouts:Park=50s");

    [Fact]
    public Task A_request_that_its_node_refuses_again_and_again_waits_no_longer_than_once() => ClusterFixture.RunAsync(
        static _ => Task.CompletedTask,
        static async cluster =>
        {
            cluster.Knowledge.Truth["web"] = cluster.PlaceOf(1, epoch: 50);
            var (head, _) = await cluster.ExchangeAsync();
            Assert.Equal((503, "agent-offline"), (head.StatusCode, head["Tunnel2-Error"]));
            Assert.InRange(ClusterFixture.Sum(cluster.Nodes[1], "tunnel2_entry_node_hops_refused_total"), 2, 4);
        },
        3,
        "Timeouts:Park=2500ms");

    [Fact]
    public Task A_request_makes_one_hop_and_no_second_one() => ClusterFixture.RunAsync(
        static _ => Task.CompletedTask,
        static async cluster =>
        {
            // Each node believes that another one has the session.
            cluster.Locators.ForEach(static locator => locator.Truth.Clear());
            cluster.Locators[0].Truth["other"] = cluster.PlaceOf(1, epoch: 5);
            cluster.Locators[1].Truth["other"] = cluster.PlaceOf(0, epoch: 5);
            await using var visitor = await cluster.ConnectAsync();
            var (head, _) = await visitor.ExchangeAsync("/", "other.localhost");
            Assert.Equal(503, head.StatusCode);
            Assert.Equal((0, 1), (cluster.Locators[0].Asked.Value, ClusterFixture.LinksOf(cluster.Front)));
            Assert.Equal(0, ClusterFixture.LinksOf(cluster.Owner));
        },
        2,
        "Timeouts:Park=off");

    [Fact]
    public Task An_error_of_the_sessions_node_names_it() => ClusterFixture.RunAsync(
        static connection => connection.CloseAsync(),
        static async cluster =>
        {
            var (head, body) = await cluster.ExchangeAsync();
            Assert.Equal(502, head.StatusCode);
            Assert.Contains("node=\"e1\"", head["Proxy-Status"], StringComparison.Ordinal);
            Assert.Contains("\"node\": \"e1\"", body.Text, StringComparison.Ordinal);
        });

    [Theory]
    [InlineData("foreign")]
    [InlineData("expired")]
    [InlineData("stranger")]
    public Task A_node_with_a_wrong_certificate_is_refused_and_the_log_says_why(string kind) => ClusterFixture.RunAsync(
        ClusterFixture.ServeOkAsync,
        async cluster =>
        {
            var folder = Path.Combine(cluster.Folder, "other");
            var now = DateTimeOffset.UtcNow;
            var authority = new ClusterAuthority(kind == "foreign" ? folder : cluster.Folder, kind == "expired" ? now.AddDays(-30) : now);
            if (kind == "foreign")
            {
                authority.Create();
            }

            // The front trusts the cluster, and shows what the cluster does not accept: it is a node e9 of its own.
            var certificate = authority.Issue(kind == "stranger" ? "e8" : "e9", TimeSpan.FromDays(3));
            var locator = new FakeLocator();
            locator.Truth["web"] = cluster.PlaceOf(0);
            await using var front = await EntryFixture.StartNodeAsync(
                locator, null, "EntryId=e9", "Cluster:Listen=127.0.0.1:0", $"Cluster:Certificate={certificate}",
                $"Cluster:Ca={Path.Combine(cluster.Folder, "ca.pem")}", "Timeouts:Park=off");
            await using var visitor = await RawHttpClient.ConnectAsync(front.Http);
            var (head, body) = await visitor.ExchangeAsync("/", ClusterFixture.Host);
            Assert.Equal((503, "node-unreachable"), (head.StatusCode, head["Tunnel2-Error"]));
            Assert.Contains("node=\"e1\"", head["Proxy-Status"], StringComparison.Ordinal);
            Assert.Contains("\"node\": \"e1\"", body.Text, StringComparison.Ordinal);
            await cluster.Owner.Log.WaitForAsync(LinkRefused);
            var line = Assert.Single(cluster.Owner.Log.All, static line => line.EventId == LinkRefused);
            Assert.Contains(
                kind switch
                {
                    "foreign" => "no authority of this cluster",
                    "expired" => "has expired on",
                    _ => "shows the certificate of node e8",
                },
                line.Text,
                StringComparison.Ordinal);
            Assert.Contains(front.Log.All, static line => line.EventId == LinkFailed);
            await front.StopAsync();
        });

    [Fact]
    public Task A_node_that_is_not_the_expected_one_gets_no_request() => ClusterFixture.RunAsync(
        static _ => Task.CompletedTask,
        static async cluster =>
        {
            // The address of e2, and the name of e1.
            cluster.Knowledge.Truth["web"] = cluster.PlaceOf(0) with { LinkAddress = cluster.PlaceOf(1, epoch: 1).LinkAddress };
            var (head, _) = await cluster.ExchangeAsync();
            Assert.Equal((503, "node-unreachable"), (head.StatusCode, head["Tunnel2-Error"]));

            // However often it is tried, once a second, the log has it once.
            while (ClusterFixture.Sum(cluster.Front, "tunnel2_entry_node_link_failures_total", "out") < 2)
            {
                await cluster.ExchangeAsync();
            }

            var line = Assert.Single(cluster.Front.Log.All, static line => line.EventId == LinkFailed);
            Assert.Contains("is that of node e2, not of e1", line.Text, StringComparison.Ordinal);
        },
        3,
        "Timeouts:Park=off");

    [Fact]
    public Task A_new_authority_takes_over_without_a_request_that_fails() => ClusterFixture.RunAsync(
        ClusterFixture.ServeOkAsync,
        static async cluster =>
        {
            await using var proxy = CuttingProxy.Start(cluster.Owner.Part<NodeLinkListener>().EndPoint);
            Through(cluster, proxy);
            Assert.Equal(200, (await cluster.ExchangeAsync()).Head.StatusCode);
            var authority = new ClusterAuthority(cluster.Folder, DateTimeOffset.UtcNow);
            authority.Create();
            await Task.WhenAll(cluster.Nodes.Select(static node => node.Log.WaitForAsync(2187)));
            await NextLinkAsync();
            authority.Issue("e1", TimeSpan.FromDays(3));
            await cluster.Owner.Log.WaitForAsync(2277);
            await NextLinkAsync();
            authority.Issue("e2", TimeSpan.FromDays(3));
            await cluster.Front.Log.WaitForAsync(2277);
            await NextLinkAsync();

            async Task NextLinkAsync()
            {
                proxy.CutAll(CutMode.Fin);
                await cluster.WaitForLinksAsync(0);
                Assert.Equal(200, (await cluster.ExchangeAsync()).Head.StatusCode);
            }
        });

    [Fact]
    public Task A_visitor_that_does_not_read_stops_no_other_of_its_link()
    {
        var written = new AsyncCounter("bytes that the service wrote");
        return ClusterFixture.RunAsync(
            async connection =>
            {
                while (true)
                {
                    var head = await connection.ReadHeadAsync();
                    var length = head.Target == "/big" ? 64 * 1024 * 1024 : 5;
                    await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
                    for (var position = 0; position < length;)
                    {
                        var piece = PatternBytes.Window(position, Math.Min(64 * 1024, length - position));
                        try
                        {
                            await connection.WriteAsync(piece);
                        }
                        catch (IOException)
                        {
                            return;
                        }

                        position += piece.Length;
                        if (head.Target == "/big")
                        {
                            written.Set(position);
                        }
                    }
                }
            },
            async cluster =>
            {
                await using var slow = await cluster.ConnectAsync(receiveBufferSize: 16 * 1024);
                await slow.SendRequestAsync("/big", ClusterFixture.Host);
                await slow.ReadHeadAsync();
                await written.WaitForAsync(512 * 1024);
                for (var i = 0; i < 100; i++)
                {
                    Assert.Equal(200, (await cluster.ExchangeAsync("/small")).Head.StatusCode);
                }

                Assert.InRange(written.Value, 1, 40 * 1024 * 1024);
                slow.Reset();
            });
    }

    [Fact]
    public Task A_link_without_requests_is_closed_and_opened_again() => ClusterFixture.RunAsync(
        ClusterFixture.ServeOkAsync,
        static async cluster =>
        {
            Assert.Equal(200, (await cluster.ExchangeAsync()).Head.StatusCode);
            await cluster.WaitForLinksAsync(0);
            Assert.Equal(200, (await cluster.ExchangeAsync()).Head.StatusCode);
        },
        2,
        "Cluster:LinkIdle=1s");

    [Fact]
    public Task Files_of_the_cluster_are_for_their_owner_only() => ClusterFixture.RunAsync(
        static _ => Task.CompletedTask,
        static cluster =>
        {
            if (!OperatingSystem.IsWindows())
            {
                foreach (var file in Directory.GetFiles(cluster.Folder))
                {
                    Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(file));
                }
            }

            return Task.CompletedTask;
        });

    /// <summary>
    /// An agent of the front that has said goodbye so long ago that no request waits for it, and a visitor who has learned that.
    /// </summary>
    private static async Task<(RawHttpClient Visitor, NodeLocation Place)> AwayAsync(ClusterFixture cluster)
    {
        cluster.Knowledge.Truth.TryRemove("web", out var place);
        await (await AgentFixture.StartReadyAsync(AgentFixture.Options(cluster.Front.Uplink.Port, cluster.Service))).DisposeAsync();
        var visitor = await cluster.ConnectAsync();
        Assert.Equal(503, (await visitor.ExchangeAsync("/", ClusterFixture.Host)).Head.StatusCode);
        return (visitor, place);
    }

    /// <summary>A service that begins its answer, and does not end it.</summary>
    private static async Task BeginAsync(RawConnection connection)
    {
        await connection.ReadHeadAsync();
        await connection.WriteAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        await connection.WaitForEndAsync();
    }

    /// <summary>Has the front reach the owner through a relay.</summary>
    private static void Through(ClusterFixture cluster, CuttingProxy proxy) => cluster.Knowledge.Truth["web"] =
        cluster.PlaceOf(0) with { LinkAddress = proxy.EndPoint.ToString() };
}
