using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Inspection.Capture;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;
using static Tunnel2.FunctionalTests.Cluster.AdministeredCluster;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>The inspector, asked at another node than that of the session, with real nodes, links and database.</summary>
public sealed class ClusterInspectionTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    [Fact]
    public async Task All_of_the_inspector_is_at_a_node_without_the_session()
    {
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0);
        await cluster.InspectAsync(1);
        var inspection = await cluster.GetAsync(1, Session + "/inspection");
        Assert.Equal(JsonValueKind.String, inspection.GetProperty("until").ValueKind);
        Assert.Contains(inspection.GetProperty("nodes").EnumerateArray(), static one =>
            one.GetProperty("node").GetString() == "e1" && one.TryGetProperty("until", out _));

        await cluster.VisitAsync(1, "/first?token=hidden", "Authorization: Bearer hidden\r\n", "one");
        await cluster.VisitAsync(0, "/second", "X-Which: two\r\n", "two");
        var inspected = await cluster.GetAsync(1, "/api/v1/sessions?inspected=true");
        Assert.Contains(inspected.GetProperty("sessions").EnumerateArray(), static one =>
            one.GetProperty("name").GetString() == "web" && one.GetProperty("at")[0].GetString() == "e1");
        for (var node = 0; node < 2; node++)
        {
            var list = await cluster.WholeAsync(node, Session + "/exchanges");
            Assert.Equal(["e1:2", "e1:1"], Ids(list));
            Assert.Equal("e1", list.GetProperty("exchanges")[0].GetProperty("node").GetString());
            Assert.Equal(["e1:2"], Ids(await cluster.WholeAsync(node, Session + "/exchanges?q=two")));
            Assert.Equal(["e1:2"], Ids(await cluster.WholeAsync(node, Session + "/exchanges?limit=1")));
            Assert.Equal(["e1:1"], Ids(await cluster.WholeAsync(node, Session + "/exchanges?before=e1:2")));
            var detail = await cluster.GetAsync(node, Session + "/exchanges/e1:1");
            Assert.Equal("one", detail.GetProperty("request").GetProperty("body").GetProperty("text").GetString());
            Assert.Equal("/first?token=***", detail.GetProperty("target").GetString());
            Assert.Contains(detail.GetProperty("request").GetProperty("fields").EnumerateArray(), static field =>
                field.GetProperty("name").GetString() == "Authorization" && field.GetProperty("value").GetString() == "Bearer ***");
            Assert.Equal("two", await cluster.Admin(node).GetStringAsync(Session + "/exchanges/e1:2/request/body"));
            Assert.Contains(
                "curl", (await cluster.GetAsync(node, Session + "/exchanges/e1:2/copy/curl")).GetProperty("text").GetString(),
                StringComparison.Ordinal);
            var compared = await cluster.GetAsync(node, Session + "/exchanges/e1:1/compare/e1:2");
            Assert.Equal("e1:2", compared.GetProperty("second").GetString());
            var har = await cluster.GetAsync(node, Session + "/exchanges.har");
            Assert.Equal(2, har.GetProperty("log").GetProperty("entries").GetArrayLength());
        }

        Assert.Equal(HttpStatusCode.NoContent, (await cluster.Admin(1).DeleteAsync(Session + "/exchanges")).StatusCode);
        Assert.Empty(Ids(await cluster.WholeAsync(0, Session + "/exchanges")));
        Assert.Equal(HttpStatusCode.NoContent, (await cluster.Admin(1).DeleteAsync(Session + "/inspection")).StatusCode);
        await cluster.EndedAsync();
        Assert.Equal(404, (await cluster.AskAsync(0, Session + "/exchanges")).Status);
        Assert.Equal(404, (await cluster.AskAsync(1, Session + "/exchanges")).Status);
    }

    [Fact]
    public async Task A_replay_asked_at_another_node_is_sent_and_logged_at_the_node_of_the_session()
    {
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0);
        await cluster.InspectAsync(1);
        await cluster.VisitAsync(1, "/again", "Authorization: Bearer hidden\r\n", "one");
        using var changes = new StringContent("""{"body":"changed"}""", Encoding.UTF8, "application/json");
        using var response = await cluster.Admin(1).PostAsync(Session + "/exchanges/e1:1/replay", changes);
        using var json = JsonDocument.Parse(await response.Content.ReadAsStringAsync());
        Assert.Equal((200, "e1:2"), ((int)response.StatusCode, json.RootElement.GetProperty("id").GetString()));
        var exchange = json.RootElement.GetProperty("exchange");
        Assert.Equal("e1:1", exchange.GetProperty("replayOf").GetString());
        Assert.Equal("changed", exchange.GetProperty("request").GetProperty("body").GetProperty("text").GetString());
        await cluster.GetAsync(1, Session + "/exchanges/e1:1?reveal=1");
        foreach (var id in new[] { 2240, 2242, 2243 })
        {
            Assert.Contains(
                "127.0.0.1 at node e2", Assert.Single(Lines(cluster, 0, id)), StringComparison.Ordinal);
            Assert.Empty(Lines(cluster, 1, id));
        }
    }

    [Fact]
    public async Task Requests_by_two_nodes_are_one_list_by_time_with_pages()
    {
        await using var cluster = await StartAsync(server, 3);
        await cluster.StartAgentAsync(0, 1);
        await cluster.InspectAsync(2);
        int[] order = [0, 1, 1, 0, 0, 1];
        for (var i = 0; i < order.Length; i++)
        {
            await cluster.VisitAsync(order[i], $"/{i}");
        }

        string[] expected = ["e2:3", "e1:3", "e1:2", "e2:2", "e2:1", "e1:1"];
        Assert.Equal(expected, Ids(await cluster.WholeAsync(2, Session + "/exchanges")));
        Assert.Equal(expected, Ids(await cluster.WholeAsync(0, Session + "/exchanges")));
        var all = new List<string>();
        for (string? next = ""; next is not null;)
        {
            var page = await cluster.WholeAsync(2, Session + "/exchanges?limit=2" + (next.Length > 0 ? "&before=" + next : ""));
            all.AddRange(Ids(page));
            next = page.GetProperty("more").GetBoolean() ? page.GetProperty("next").GetString() : null;
            Assert.True(all.Count <= expected.Length);
        }

        Assert.Equal(expected, all);
        var entries = (await cluster.GetAsync(2, Session + "/exchanges.har")).GetProperty("log").GetProperty("entries");

        // The file counts milliseconds: two that began in the same one have no order.
        var times = entries.EnumerateArray().Select(static one => one.GetProperty("startedDateTime").GetDateTimeOffset()).ToList();
        Assert.Equal(times.Order(), times);
        Assert.Equal(expected.Order(), entries.EnumerateArray().Select(static one => one.GetProperty("_id").GetString()!).Order());
        Assert.Equal(["e2:3"], (await cluster.GetAsync(0, Session + "/exchanges.har?id=e2:3")).GetProperty("log").GetProperty("entries")
            .EnumerateArray().Select(static one => one.GetProperty("_id").GetString()));

        // As it was with one node: an id of the node that is asked.
        Assert.Equal("e2:2", (await cluster.GetAsync(1, Session + "/exchanges/2")).GetProperty("id").GetString());
        Assert.Equal("several-nodes", (await cluster.AskAsync(2, Session + "/exchanges/2")).Json.GetProperty("code").GetString());
        Assert.Equal("no-node", (await cluster.AskAsync(2, Session + "/exchanges/e9:2")).Json.GetProperty("code").GetString());
    }

    [Fact]
    public async Task What_a_node_alone_refuses_is_refused_by_each_node_and_changes_nothing()
    {
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0, 1);
        await cluster.InspectAsync(0);
        await cluster.VisitAsync(0, "/a");
        var until = (await cluster.GetAsync(0, Session + "/inspection")).GetProperty("until").GetDateTimeOffset();
        (string Method, string Path, string? Body, string Code)[] calls =
        [
            ("PUT", "/inspection", """{"minutes":5}""", "body"), ("DELETE", "/inspection", "{}", "body"),
            ("PUT", "/inspection?minutes=5&seconds=3", null, "parameter"), ("DELETE", "/exchanges", "{}", "body"),
            ("PUT", "/drain", "{}", "body"), ("DELETE", "", "{}", "body"), ("GET", "/exchanges", "{}", "body"),
            ("GET", "/exchanges?kind=grpc", null, "parameter"), ("GET", "/exchanges.har?ids=1", null, "parameter"),
            ("GET", "/exchanges.har?status=6xx", null, "parameter"), ("GET", "/exchanges.har?node=e2&status=6xx", null, "parameter"),
            ("GET", "/exchanges/1?limit=1", null, "parameter"), ("GET", "/exchanges/e1:1/compare/e2:1?limit=1", null, "parameter"),
            ("POST", "/exchanges/1/replay?method=PUT", null, "parameter"), ("GET", "/exchanges/e2:1", "{}", "body"),
        ];
        foreach (var (method, path, body, code) in calls)
        {
            for (var node = 0; node < 2; node++)
            {
                using var request = new HttpRequestMessage(new HttpMethod(method), Session + path);
                request.Content = body is null ? null : new StringContent(body, Encoding.UTF8, "application/json");
                using var response = await cluster.Admin(node).SendAsync(request);
                var text = await response.Content.ReadAsStringAsync();
                Assert.True(
                    response.StatusCode == HttpStatusCode.BadRequest && text.Contains($"\"code\":\"{code}\"", StringComparison.Ordinal),
                    $"{method} {path} at {node}: {response.StatusCode} {text}");
            }
        }

        // The node counts the time that is left, so each answer differs by some milliseconds.
        Assert.Equal(
            until, (await cluster.GetAsync(0, Session + "/inspection")).GetProperty("until").GetDateTimeOffset(), TimeSpan.FromSeconds(1));
        Assert.Equal(["e1:1"], Ids(await cluster.WholeAsync(1, Session + "/exchanges?limit=500&status=2xx&kind=http&reveal=0&q=")));
    }

    [Fact]
    public async Task All_agents_of_a_pool_at_several_nodes_are_inspected_also_one_that_comes_later()
    {
        await using var cluster = await StartAsync(server, 3);
        await JoinAsync(0, 0);
        await JoinAsync(1, 0);
        await JoinAsync(2, 1);

        // Asked at a node without a session of the name.
        await cluster.InspectAsync(2);
        await AssertKeptAsync(0, 1);

        // One more at a node that has some, and the first one at a node that has none.
        await JoinAsync(2, 0);
        await JoinAsync(1, 2);
        await WaitSignal.UntilAsync(
            () => Stores(2).All(static store => store is not null), "the inspection follows to the node", TimeSpan.FromSeconds(60));
        await AssertKeptAsync(0, 1, 2);
        Assert.Equal([3, 1, 1], Enumerable.Range(0, 3).Select(node => Stores(node).Count));
        Assert.Equal(HttpStatusCode.NoContent, (await cluster.Admin(1).DeleteAsync(Session + "/inspection")).StatusCode);
        await cluster.EndedAsync();
        for (var node = 0; node < 3; node++)
        {
            Assert.All(Stores(node), Assert.Null);
        }

        Task JoinAsync(int service, int node) =>
            cluster.Cluster.StartAgentAsync(cluster.Cluster.Options(service, node) with { Pool = true });

        List<ExchangeStore?> Stores(int node) =>
            [.. cluster.Cluster.Nodes[node].Directory.Snapshot().Select(static session => session.Inspected)];

        // All agents of a node keep what they serve in one place, and each request of each agent is in the list.
        async Task AssertKeptAsync(params int[] nodes)
        {
            foreach (var node in nodes)
            {
                Assert.NotNull(Assert.Single(Stores(node).Distinct()));
                var before = Ids(await cluster.WholeAsync(2, Session + "/exchanges")).Length;
                Assert.Equal(Stores(node).Count, (await cluster.Cluster.AskAsync(node, 6)).Count);
                Assert.Equal(before + 6, Ids(await cluster.WholeAsync(2, Session + "/exchanges")).Length);
            }
        }
    }

    [Fact]
    public async Task Exchanges_of_two_nodes_are_compared_and_what_is_masked_too()
    {
        await using var cluster = await StartAsync(server, 3);
        await cluster.StartAgentAsync(0, 1);
        await cluster.InspectAsync(2);
        const string Fields = "Content-Type: application/json\r\nX-Api-Key: same\r\nAuthorization: Bearer ";
        await cluster.VisitAsync(0, "/a?token=one", Fields + "one\r\n", """{"a":1,"token":"x"}""");
        await cluster.VisitAsync(1, "/a?token=two", Fields + "two\r\n", """{"a":2,"token":"x"}""");
        await cluster.VisitAsync(1, "/a?token=one", Fields + "one\r\n", """{"a":1,"token":"x"}""");
        for (var node = 0; node < 3; node++)
        {
            var compared = await cluster.GetAsync(node, Session + "/exchanges/e1:1/compare/e2:1");
            Assert.Equal(
                ("e1:1", "e2:1"), (compared.GetProperty("first").GetString(), compared.GetProperty("second").GetString()));
            var request = compared.GetProperty("request");
            Assert.Equal("POST /a?token=***", request.GetProperty("line").GetProperty("first").GetString());
            var field = request.GetProperty("fields")[0];
            Assert.Equal(
                ("Bearer ***", "Bearer ***"), (field.GetProperty("first")[0].GetString(), field.GetProperty("second")[0].GetString()));
            Assert.Equal(["Authorization", "X-Forwarded-Port"], Names(request));
            Assert.Contains(request.GetProperty("body").GetProperty("lines").EnumerateArray(), static line =>
                line.GetString() == "-  \"a\": 1,");
            Assert.DoesNotContain("\"x\"", request.GetRawText(), StringComparison.Ordinal);
        }

        // What is the same at one node is the same at two.
        var same = (await cluster.GetAsync(2, Session + "/exchanges/e2:2/compare/e1:1")).GetProperty("request");
        Assert.False(same.TryGetProperty("line", out _));
        Assert.Equal(["X-Forwarded-Port"], Names(same));
        Assert.True(same.GetProperty("body").GetProperty("same").GetBoolean());

        // With secrets: both nodes say in their logs that theirs were shown.
        var shown = await cluster.GetAsync(2, Session + "/exchanges/e1:1/compare/e2:1?reveal=1");
        Assert.Contains("Bearer two", shown.GetRawText(), StringComparison.Ordinal);
        Assert.Single(Lines(cluster, 0, 2243));
        Assert.Single(Lines(cluster, 1, 2243));

        // Numbers without a node are those of the node that is asked.
        Assert.Equal("e2:2", (await cluster.GetAsync(1, Session + "/exchanges/e1:1/compare/e2:2")).GetProperty("second").GetString());
        Assert.Equal(404, (await cluster.AskAsync(2, Session + "/exchanges/e1:1/compare/e2:9")).Status);
        Assert.Equal(404, (await cluster.AskAsync(2, Session + "/exchanges/e1:x/compare/e2:1")).Status);

        // Who chooses the key of the digests could find out what is masked.
        var key = new string('0', 64);
        foreach (var node in new[] { 0, 2 })
        {
            Assert.Equal(400, (await cluster.AskAsync(node, $"{Session}/exchanges/e1:1?comparable={key}")).Status);
            Assert.Equal(400, (await cluster.AskAsync(node, $"{Session}/exchanges/e1:1?comparable={key}&node=e1")).Status);
        }
    }

    [Fact]
    public async Task Calls_between_nodes_are_counted_with_their_failures_and_times()
    {
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0);
        await cluster.GetAsync(1, Session);
        var (asking, asked) = (cluster.Cluster.Nodes[1], cluster.Cluster.Nodes[0]);
        Assert.True(ClusterFixture.Sum(asking, "tunnel2_entry_node_calls_total", "out") >= 1);
        Assert.True(ClusterFixture.Sum(asked, "tunnel2_entry_node_calls_total", "in") >= 1);
        Assert.True(ClusterFixture.Sum(asking, "tunnel2_entry_node_call_duration_seconds_count") >= 1);
        Assert.Equal(0, ClusterFixture.Sum(asking, "tunnel2_entry_node_call_failures_total"));
        await PostgresServer.ExecuteAsync(
            cluster.Cluster.Database,
            "insert into tunnel2_nodes (node, process, incarnation, link_address, version, lease_until, joined_at) values "
                + $"('e9', gen_random_uuid(), nextval('tunnel2_epochs'), '127.0.0.1:{FreePort.Next()}', '1', "
                + "now() + interval '1 hour', now())",
            TestContext.Current.CancellationToken);
        await KnowsAsync(asking, 2);
        await cluster.GetAsync(1, "/api/v1/sessions");
        Assert.Equal(1, ClusterFixture.Sum(asking, "tunnel2_entry_node_call_failures_total", "unreachable"));
    }

    [Fact]
    public async Task A_list_that_waits_answers_when_another_node_has_something_new()
    {
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0, 1);
        await cluster.InspectAsync(0);

        // That a node keeps exchanges is news too.
        await cluster.KeepsAsync(0, "e1");
        await cluster.KeepsAsync(0, "e2");
        var version = (await cluster.GetAsync(0, Session + "/exchanges")).GetProperty("version").GetString();
        var waiting = cluster.GetAsync(0, $"{Session}/exchanges?since={version}&wait=25");
        Assert.False(waiting.IsCompleted);
        await cluster.VisitAsync(1, "/new");
        var list = await waiting;
        Assert.Equal(["e2:1"], Ids(list));
        Assert.NotEqual(version, list.GetProperty("version").GetString());
    }

    [Fact]
    public async Task The_frames_of_a_WebSocket_are_shown_at_another_node()
    {
        await using var cluster = await StartAsync(server, 2);
        await using var service = RawTcpServer.Start(static async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
            await connection.WriteAsync("\u0081\u0005hello");
            await connection.ReadExactlyAsync(1);
        });
        await cluster.Cluster.StartAgentAsync(AgentFixture.Options(cluster.Cluster.Nodes[0].Uplink.Port, service.Port));
        await cluster.InspectAsync(1);
        await using var visitor = await RawHttpClient.ConnectAsync(cluster.Cluster.Nodes[1].Http);
        await visitor.SendRequestAsync("/ws", ClusterFixture.Host, fields: "Connection: Upgrade\r\nUpgrade: websocket\r\n");
        Assert.Equal(101, (await visitor.ReadHeadAsync()).StatusCode);
        await visitor.ReadExactlyAsync(7);
        var detail = await cluster.GetAsync(1, Session + "/exchanges/e1:1");
        Assert.Equal("websocket", detail.GetProperty("kind").GetString());
        Assert.Equal("hello", detail.GetProperty("messages")[0].GetProperty("text").GetString());
    }

    [Fact]
    public async Task A_node_that_does_not_answer_is_shown_as_lost_and_the_list_does_not_wait_for_it()
    {
        using var silent = new TcpListener(IPAddress.Loopback, 0);
        silent.Start();
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0);
        await cluster.InspectAsync(1);
        await cluster.VisitAsync(1, "/seen");
        await PostgresServer.ExecuteAsync(
            cluster.Cluster.Database,
            "insert into tunnel2_nodes (node, process, incarnation, link_address, version, lease_until, joined_at) values "
                + $"('e9', gen_random_uuid(), nextval('tunnel2_epochs'), '{silent.LocalEndpoint}', '1', now() + interval '1 hour', now())",
            TestContext.Current.CancellationToken);
        await KnowsAsync(cluster.Cluster.Nodes[1], 2);
        for (var i = 0; i < 2; i++)
        {
            var list = await cluster.GetAsync(1, Session + "/exchanges");
            Assert.Equal(["e1:1"], Ids(list));
            Assert.Equal("lost", StateOf(list, "e9"));
            Assert.Equal("up", StateOf(list, "e1"));
            Assert.Contains("e9:x", list.GetProperty("version").GetString(), StringComparison.Ordinal);
        }

        Assert.Equal("lost", StateOf(await cluster.GetAsync(1, "/api/v1/sessions"), "e9"));
        Assert.Equal("node-lost", (await cluster.AskAsync(1, Session + "/exchanges/e9:1")).Json.GetProperty("code").GetString());
        Assert.Equal("node-lost", (await cluster.AskAsync(1, "/api/v1/sessions/none")).Json.GetProperty("code").GetString());
    }

    [Fact]
    public async Task A_caller_that_reads_nothing_of_a_large_file_stalls_no_request()
    {
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0);
        await cluster.InspectAsync(1);
        var body = new string('x', 256 * 1024);
        for (var i = 0; i < 24; i++)
        {
            await cluster.VisitAsync(1, "/large", "Content-Type: text/plain\r\n", body);
        }

        await using var slow = await RawHttpClient.ConnectAsync(cluster.Cluster.Nodes[1].Admin, receiveBufferSize: 4096);
        await slow.SendRequestAsync(Session + "/exchanges.har", "localhost");
        var head = await slow.ReadHeadAsync();
        for (var i = 0; i < 20; i++)
        {
            await cluster.VisitAsync(1, "/meanwhile");
        }

        using var har = JsonDocument.Parse((await slow.ReadBodyAsync(head)).Bytes);
        Assert.InRange(har.RootElement.GetProperty("log").GetProperty("entries").GetArrayLength(), 20, 24);
    }

    private static string[] Names(JsonElement message) =>
        [.. message.GetProperty("fields").EnumerateArray().Select(static field => field.GetProperty("name").GetString()!)];

    private static string? StateOf(JsonElement list, string node) => list.GetProperty("nodes").EnumerateArray()
        .Single(one => one.GetProperty("node").GetString() == node).GetProperty("state").GetString();

    private static string[] Lines(AdministeredCluster cluster, int node, int id) =>
        [.. cluster.Cluster.Nodes[node].Log.All.Where(line => line.EventId == id).Select(static line => line.Text)];
}
