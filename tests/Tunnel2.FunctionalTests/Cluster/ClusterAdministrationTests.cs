using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.TestUtilities;
using static Tunnel2.FunctionalTests.Cluster.AdministeredCluster;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Sessions by the API of any node, and who may not ask a node for them.</summary>
public sealed class ClusterAdministrationTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    [Fact]
    public async Task Sessions_of_all_nodes_are_listed_shown_drained_and_ended_at_any_node()
    {
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0);
        var list = await cluster.GetAsync(1, "/api/v1/sessions");
        var session = Assert.Single(list.GetProperty("sessions").EnumerateArray());
        Assert.Equal(("web", "e1"), (session.GetProperty("name").GetString(), session.GetProperty("node").GetString()));
        Assert.Equal(1, list.GetProperty("total").GetInt32());
        Assert.Empty((await cluster.GetAsync(1, "/api/v1/sessions?node=e2")).GetProperty("sessions").EnumerateArray());
        var unknown = await cluster.AskAsync(1, "/api/v1/sessions?node=e9");
        Assert.Equal((404, "No node e9 lives."), (unknown.Status, unknown.Json.GetProperty("detail").GetString()));

        // Times have the same form whether one node answers or all do.
        Assert.DoesNotContain("u002B", (await cluster.AskAsync(1, "/api/v1/sessions")).Text, StringComparison.Ordinal);
        var id = session.GetProperty("sessionId").GetString();
        Assert.Equal(id, (await cluster.GetAsync(1, Session)).GetProperty("sessionId").GetString());
        Assert.Equal(404, (await cluster.AskAsync(1, "/api/v1/sessions/none")).Status);

        await cluster.VisitAsync(1, "/asked");
        await cluster.Cluster.Nodes[0].WaitForRecordsAsync(1);
        var request = Assert.Single((await cluster.GetAsync(1, Session + "/requests")).GetProperty("requests").EnumerateArray());
        Assert.Equal(("/asked", "e1"), (request.GetProperty("target").GetString(), request.GetProperty("node").GetString()));

        using var drained = await cluster.Admin(1).PutAsync(Session + "/drain", null);
        Assert.Equal(HttpStatusCode.Accepted, drained.StatusCode);
        Assert.Contains("127.0.0.1 at node e2 (no token is set) drains session web", Line(cluster), StringComparison.Ordinal);
        await cluster.Cluster.Nodes[0].UntilAsync(
            () => cluster.Cluster.Nodes[0].Directory.Snapshot() is [{ IsLeaving: false } other] && other.DisplayId != id,
            "the agent has another session");
        using var ended = await cluster.Admin(1).DeleteAsync(Session);
        Assert.Equal(HttpStatusCode.NoContent, ended.StatusCode);
    }

    [Theory]
    [InlineData("status", "1 nodes are up")]
    [InlineData("nodes", "NODE ")]
    public async Task A_command_says_that_the_database_takes_no_changes(string command, string begin)
    {
        await using var cluster = await StartAsync(server, 1);
        var (output, error) = (new StringWriter(), new StringWriter());
        string[] args = ["cluster", command, $"--Tunnel2:Cluster:Database={cluster.Cluster.Database}"];
        Assert.Equal(0, await ClusterNodesCommand.RunAsync(args, output, error));
        Assert.StartsWith(begin, output.ToString(), StringComparison.Ordinal);
        Assert.Empty(error.ToString());

        args[^1] += ";Options=-c default_transaction_read_only=on";
        Assert.Equal(0, await ClusterNodesCommand.RunAsync(args, TextWriter.Null, error));
        Assert.Contains("takes no changes", error.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_node_whose_lease_is_over_is_lost_in_the_lists_for_ten_minutes()
    {
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0);
        await PostgresServer.ExecuteAsync(
            cluster.Cluster.Database,
            "insert into tunnel2_nodes (node, process, incarnation, link_address, version, lease_until, joined_at) values "
                + "('e8', gen_random_uuid(), nextval('tunnel2_epochs'), '127.0.0.1:1', '1', now() - interval '9 minutes', now()), "
                + "('e9', gen_random_uuid(), nextval('tunnel2_epochs'), '127.0.0.1:1', '1', now() - interval '11 minutes', now())",
            TestContext.Current.CancellationToken);
        var others = cluster.Cluster.Nodes[1].Part<IOtherNodes>();
        others.Ask();
        await WaitSignal.UntilAsync(() => others.Lost.Count > 0, "the node looks around");
        foreach (var path in new[] { "/api/v1/sessions", Session + "/requests" })
        {
            var list = await cluster.GetAsync(1, path);
            Assert.Equal(
                ["e1 up ", "e2 up ", "e8 lost its lease is over"],
                list.GetProperty("nodes").EnumerateArray().Select(static one => one.GetProperty("node").GetString()
                    + $" {one.GetProperty("state").GetString()} "
                    + (one.TryGetProperty("problem", out var problem) ? problem.GetString() : "")).Order(StringComparer.Ordinal));
        }

        Assert.Equal(404, (await cluster.AskAsync(1, "/api/v1/sessions/none")).Status);
    }

    [Fact]
    public async Task A_name_with_sessions_at_two_nodes_needs_to_say_which()
    {
        await using var cluster = await StartAsync(server, 3);
        await cluster.StartAgentAsync(0, 1);
        var sessions = (await cluster.GetAsync(2, "/api/v1/sessions?limit=1")).GetProperty("sessions").EnumerateArray().ToList();
        Assert.Equal(["e1", "e2"], sessions.Select(static one => one.GetProperty("node").GetString()));
        Assert.Equal(409, (await cluster.AskAsync(2, Session)).Status);
        using (var refused = await cluster.Admin(2).DeleteAsync(Session))
        {
            Assert.Equal(HttpStatusCode.Conflict, refused.StatusCode);
        }

        var second = await cluster.GetAsync(2, Session + "?session=" + sessions[1].GetProperty("sessionId"));
        Assert.Equal("e2", second.GetProperty("node").GetString());
        using var ended = await cluster.Admin(2).DeleteAsync(Session + "?node=e2");
        Assert.Equal(HttpStatusCode.NoContent, ended.StatusCode);
        using var unknown = await cluster.Admin(2).DeleteAsync(Session + "?node=e9");
        Assert.Equal(HttpStatusCode.NotFound, unknown.StatusCode);
    }

    [Fact]
    public async Task A_parameter_that_is_unknown_or_given_twice_is_refused_as_it_is_without_a_cluster()
    {
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0);
        string[] mistakes = ["sesion=1", "limit=1", "session=1&session=2", "node=e1&node=e1", "node=e1&sesion=1"];
        foreach (var mistake in mistakes)
        {
            Assert.Equal((mistake, 400), (mistake, (await cluster.AskAsync(1, $"{Session}?{mistake}")).Status));
            using var refused = await cluster.Admin(1).DeleteAsync($"{Session}?{mistake}");
            Assert.Equal((mistake, HttpStatusCode.BadRequest), (mistake, refused.StatusCode));
        }

        foreach (var list in new[] { "/api/v1/sessions", Session + "/inspection", Session + "/exchanges" })
        {
            Assert.Equal((list, 400), (list, (await cluster.AskAsync(1, list + "?node=e1&node=e2")).Status));
        }

        Assert.Equal(200, (await cluster.AskAsync(1, Session)).Status);
    }

    [Theory]
    [InlineData("GET", "/api/v1/tokens", 403)]
    [InlineData("DELETE", "/api/v1/tokens/ci", 403)]
    [InlineData("GET", "/api/v1/policies", 403)]
    [InlineData("GET", "/api/v1/certificates", 403)]
    [InlineData("GET", "/api/v1/openapi.json", 403)]
    [InlineData("GET", "/api/v1/none", 403)]
    [InlineData("GET", "/metrics", 404)]
    [InlineData("GET", "/inspector/", 404)]
    [InlineData("GET", "/live", 404)]
    [InlineData("GET", "/api/v1/sessions/web", 404)]
    [InlineData("GET", "/api/v1/sessions/web/exchanges", 404)]
    public async Task A_node_gets_no_more_than_what_nodes_ask_for_and_nothing_of_a_third_one(string method, string target, int status)
    {
        await using var cluster = await StartAsync(server, 3);
        await cluster.StartAgentAsync(0);
        await cluster.InspectAsync(0);
        Assert.Equal(status, await CallAsync(cluster, 1, method, target));
        Assert.Equal(200, await CallAsync(cluster, 1, "GET", "/api/v1/sessions"));
        Assert.Equal(200, await CallAsync(cluster, 0, "GET", "/api/v1/sessions/web/exchanges"));
    }

    [Fact]
    public async Task The_token_is_asked_for_where_the_user_asks()
    {
        await using var cluster = await StartAsync(server, 2, "Admin:Token=admin-secret");
        await cluster.StartAgentAsync(0);
        foreach (var path in new[] { "/api/v1/sessions", Session + "/exchanges", Session + "/inspection" })
        {
            Assert.Equal(HttpStatusCode.Unauthorized, (await cluster.Admin(1).GetAsync(path)).StatusCode);
        }

        cluster.Admin(1).DefaultRequestHeaders.Add("Authorization", "Bearer admin-secret");
        using (var ended = await cluster.Admin(1).DeleteAsync(Session))
        {
            Assert.Equal(HttpStatusCode.NoContent, ended.StatusCode);
        }

        Assert.Contains("127.0.0.1 at node e2 (by Admin:Token) ends session web", Line(cluster), StringComparison.Ordinal);
        cluster.Admin(1).DefaultRequestHeaders.Add("Origin", "http://evil.example");
        using var foreign = await cluster.Admin(1).PutAsync(Session + "/inspection", null);
        Assert.Equal(HttpStatusCode.Forbidden, foreign.StatusCode);
    }

    [Fact]
    public async Task An_answer_has_nothing_of_what_was_added_to_a_visitors_answer_before_it()
    {
        await using var cluster = await StartAsync(
            server, 2, "Agents:a:TokenHash=" + EntryTokens.HashSetting("secret"), "Agents:a:Tier=counted",
            "Tiers:counted:RequestsPerSecond=1000");
        await cluster.Cluster.StartAgentAsync(cluster.Cluster.Options(0, 0) with { Token = "secret" });
        for (var i = 0; i < 3; i++)
        {
            // The node of the session serves them, and then the call, with the same object.
            Assert.Equal("a", await cluster.Cluster.AskAsync(1));
            using var answer = await CallAsync(cluster, 0, new NodeCallRequest("GET", Session));
            Assert.Equal(200, answer.Status);
            Assert.DoesNotContain(answer.Fields, static field => field.Key.StartsWith("RateLimit", StringComparison.OrdinalIgnoreCase));
        }
    }

    [Fact]
    public async Task What_another_node_answers_is_no_page_of_the_node_that_passes_it_on()
    {
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0);
        using var answer = await cluster.Admin(1).GetAsync(Session + "?node=e1");
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        Assert.Contains("default-src 'none'", Assert.Single(answer.Headers.GetValues("Content-Security-Policy")), StringComparison.Ordinal);
        Assert.Equal("nosniff", Assert.Single(answer.Headers.GetValues("X-Content-Type-Options")));
        Assert.Equal("application/json", answer.Content.Headers.ContentType!.MediaType);
    }

    [Fact]
    public async Task What_a_node_says_of_who_has_called_it_makes_no_line_of_the_log()
    {
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0);
        using var answer = await CallAsync(cluster, 0, new NodeCallRequest("DELETE", Session) { Credential = "x)\n2026 forged" });
        Assert.Equal(204, answer.Status);
        Assert.DoesNotContain('\n', Line(cluster));
    }

    [Fact]
    public async Task A_node_that_has_ended_its_links_opens_none()
    {
        await using var cluster = await StartAsync(server, 2);
        var links = cluster.Cluster.Nodes[1].Part<NodeLinks>();
        var other = Assert.Single(cluster.Cluster.Nodes[1].Part<IOtherNodes>().Known);
        links.Stop();
        Assert.False(await links.ReachesAsync(other));
        Assert.Equal((0, false), links.Look(other));
    }

    [Theory]
    [InlineData("*api.localhost")]
    [InlineData("*api")]
    [InlineData("api.tunnel2.internal")]
    [InlineData("%2aapi.localhost")]
    public async Task No_visitor_reaches_a_call(string host)
    {
        await using var cluster = await StartAsync(server, 2);
        await cluster.StartAgentAsync(0);
        await using var visitor = await RawHttpClient.ConnectAsync(cluster.Cluster.Nodes[1].Http);
        await visitor.SendRequestAsync("/api/v1/sessions", host, fields: "Tunnel2-Node: e2\r\nForwarded: host=*api\r\n");
        Assert.InRange((await visitor.ReadHeadAsync()).StatusCode, 400, 499);
    }

    [Theory]
    [InlineData("tunnel2-node/1")]
    [InlineData("tunnel2/1")]
    [InlineData("http/1.1")]
    public async Task A_peer_without_a_certificate_of_the_cluster_gets_no_answer(string protocol)
    {
        await using var cluster = await StartAsync(server, 2);
        using var client = new TcpClient();
        await client.ConnectAsync(cluster.Cluster.Nodes[0].Part<NodeLinkListener>().EndPoint);
        await using var tls = new SslStream(client.GetStream());
        var answer = new byte[1];
        var read = 0;
        try
        {
            await tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions
            {
                TargetHost = "e1.node.tunnel2.internal",
                ApplicationProtocols = [new SslApplicationProtocol(protocol)],
                RemoteCertificateValidationCallback = (_, certificate, _, _) => certificate is not null,
            });
            await tls.WriteAsync(Encoding.ASCII.GetBytes("GET /api/v1/sessions HTTP/1.1\r\nHost: *api\r\n\r\n"));
            read = await tls.ReadAsync(answer);
        }
        catch (Exception exception) when (exception is IOException or AuthenticationException)
        {
            // That is what it is to be.
        }

        Assert.Equal(0, read);
    }

    [Fact]
    public async Task A_stranger_whose_certificate_cannot_be_read_is_refused_as_any_stranger()
    {
        await using var cluster = await StartAsync(server, 1);
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=stranger", key, HashAlgorithmName.SHA256);

        // A name of a byte that is no character of names.
        request.CertificateExtensions.Add(new X509Extension("2.5.29.17", [0x30, 0x03, 0x82, 0x01, 0xff], critical: false));
        using var certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
        using var client = new TcpClient();
        await client.ConnectAsync(cluster.Cluster.Nodes[0].Part<NodeLinkListener>().EndPoint);
        await using var tls = new SslStream(client.GetStream());
        try
        {
            await tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions
            {
                TargetHost = "e1.node.tunnel2.internal",
                ApplicationProtocols = [new SslApplicationProtocol("tunnel2-node/1")],
                ClientCertificateContext = SslStreamCertificateContext.Create(certificate, null, offline: true),
                RemoteCertificateValidationCallback = (_, shown, _, _) => shown is not null,
            });
            Assert.Equal(0, await tls.ReadAsync(new byte[1]));
        }
        catch (Exception exception) when (exception is IOException or AuthenticationException)
        {
            // That is what it is to be.
        }

        await cluster.Cluster.Nodes[0].UntilAsync(
            () => cluster.Cluster.Nodes[0].Log.All.Any(static line => line.EventId is 2186 or 2190), "the stranger was refused");
        var line = Assert.Single(cluster.Cluster.Nodes[0].Log.All, static line => line.EventId is 2186 or 2190);
        Assert.Contains("its certificate is of no authority of this cluster", line.Text, StringComparison.Ordinal);
    }

    private static string Line(AdministeredCluster cluster) =>
        Assert.Single(cluster.Cluster.Nodes[0].Log.All, static line => line.EventId == 2230).Text;

    /// <summary>Calls a node as the last node would.</summary>
    private static async Task<int> CallAsync(AdministeredCluster cluster, int node, string method, string target)
    {
        using var answer = await CallAsync(cluster, node, new NodeCallRequest(method, target));
        return answer.Status;
    }

    private static async Task<NodeCallAnswer> CallAsync(AdministeredCluster cluster, int node, NodeCallRequest request)
    {
        var from = cluster.Cluster.Nodes[^1];
        var location = from.Part<IOtherNodes>().Known.Single(other => other.NodeId == $"e{node + 1}");
        var (answer, problem) = await from.Part<NodeLinks>().CallAsync(location, request, TestContext.Current.CancellationToken);
        Assert.Null(problem);
        return answer!;
    }
}
