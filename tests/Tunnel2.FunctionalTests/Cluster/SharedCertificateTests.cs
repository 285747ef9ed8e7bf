using System.Text;
using Tunnel2.FunctionalTests.Administration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Https;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.ProxyEntry.Acme;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>
/// Automatic certificates of nodes that share a real database, from a real authority for tests: Debian's package <c>pebble</c>. It comes
/// to the node whose ports it was given, whether or not that node has ordered.
/// </summary>
public sealed class SharedCertificateTests(PostgresServer server) : IClassFixture<PostgresServer>, IDisposable
{
    private const string Name = "web.example.test";
    private const int Obtained = 2271;
    private const int NotObtained = 2272;
    private const int OfOther = 2280;

    private static readonly TimeSpan _long = TimeSpan.FromSeconds(120);

    private readonly TemporaryFolder _folder = new();
    private readonly TestAuthority _authority = new();
    private readonly int _port = FreePort.Next();

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData("http-01")]
    [InlineData("tls-alpn-01")]
    public async Task Three_nodes_that_are_asked_at_once_order_once_and_the_authority_may_come_to_any_of_them(string challenge)
    {
        await Pebble.SkipWithoutAsync();
        await using var cluster = await StartAsync(3, "Acme:Challenge=" + challenge);
        await using var pebble = await StartPebbleAsync(cluster.Nodes[2]);
        await cluster.StartAgentAsync(cluster.Options(0, 0));
        for (var node = 0; node < 3; node++)
        {
            // So that each node knows where the tunnel is.
            await AskAsync(cluster, node);
        }

        await Task.WhenAll(cluster.Nodes.Select(static node => FingerprintAsync(node)));
        var fingerprints = await SameAsync(cluster);
        Assert.Single(fingerprints.Distinct());
        Assert.Equal(1, cluster.Nodes.Sum(static node => Count(node, Obtained)));
        Assert.All(cluster.Nodes, static node => Assert.Equal(0, Count(node, NotObtained)));
        Assert.Equal((1, 1), (pebble.Orders, pebble.Accounts));

        // The key is in the database, and cannot be read there.
        var kind = KindOf(cluster);
        foreach (var key in new[] { "certificate " + Name, "account" })
        {
            var stored = (byte[])(await PostgresServer.AskAsync(
                cluster.Database, $"select value from tunnel2_shared where kind = '{kind}' and key = '{key}'", Ending))!;
            Assert.Equal(1, stored[0]);
            Assert.DoesNotContain("-----BEGIN", Encoding.Latin1.GetString(stored), StringComparison.Ordinal);
        }

        // A node gives its lease back when all others can have the certificate already.
        await WaitSignal.UntilAsync(
            () => cluster.Nodes.All(static node => node.Part<AutomaticCertificates>().Waiting == 0), "no order is under way", _long);
        Assert.Equal(0L, await PostgresServer.AskAsync(
            cluster.Database, "select count(*) from tunnel2_shared where kind like 'acme-answers' or kind like '%-leases'", Ending));
    }

    [Theory]
    [InlineData("http-01")]
    [InlineData("tls-alpn-01")]
    public async Task The_authority_comes_to_a_node_that_did_not_begin_the_order(string challenge)
    {
        await Pebble.SkipWithoutAsync();
        await using var cluster = await StartAsync(2, "Acme:Challenge=" + challenge);
        await using var pebble = await StartPebbleAsync(cluster.Nodes[1]);
        await cluster.StartAgentAsync(cluster.Options(0, 0));

        // Only the first node is asked for the name, so it orders; the authority knows the ports of the second alone.
        await FingerprintAsync(cluster.Nodes[0]);
        Assert.Single((await SameAsync(cluster)).Distinct());
        Assert.Equal((1, 0), (Count(cluster.Nodes[0], Obtained), Count(cluster.Nodes[1], Obtained)));
        Assert.Equal((0, 1), (Count(cluster.Nodes[0], OfOther), Count(cluster.Nodes[1], OfOther)));
        Assert.Equal(1, pebble.Orders);
    }

    [Fact]
    public async Task A_renewal_that_is_asked_for_at_all_nodes_at_once_is_made_once_and_serves_at_all()
    {
        await Pebble.SkipWithoutAsync();
        await using var cluster = await StartAsync(3);
        await using var pebble = await StartPebbleAsync(cluster.Nodes[1], 33);
        await cluster.StartAgentAsync(cluster.Options(0, 0));
        await FingerprintAsync(cluster.Nodes[0]);
        var first = await SameAsync(cluster);
        Assert.Single(first.Distinct());
        var looks = cluster.Nodes.Select(static node => node.Part<AutomaticCertificates>().Looks).ToArray();
        var answers = await Task.WhenAll(cluster.Nodes.Select(async node =>
        {
            using var api = new AdminApi(node);
            return (await api.SendAsync("PUT", $"certificates/{Name}/renewal")).Status;
        }));
        Assert.All(answers, static status => Assert.Equal(202, status));
        foreach (var node in cluster.Nodes)
        {
            await node.UntilAsync(() => Count(node, Obtained) + Count(node, OfOther) > 1, "each node has the next certificate", _long);
        }

        // And each has looked again since: nothing is due any more.
        for (var i = 0; i < cluster.Nodes.Count; i++)
        {
            var (certificates, seen) = (cluster.Nodes[i].Part<AutomaticCertificates>(), looks[i]);
            await WaitSignal.UntilAsync(() => certificates.Looks >= seen + 3, "each node looks again", _long);
        }

        var second = await Task.WhenAll(cluster.Nodes.Select(static node => FingerprintAsync(node)));
        Assert.NotEqual(first[0], Assert.Single(second.Distinct()));
        Assert.Equal(2, pebble.Orders);
        Assert.Equal(2, cluster.Nodes.Sum(static node => Count(node, Obtained)));
    }

    [Fact]
    public async Task What_a_node_had_begun_that_died_is_begun_again_when_its_lease_is_over()
    {
        await Pebble.SkipWithoutAsync();
        await using var cluster = await StartAsync(2);
        await using var pebble = await StartPebbleAsync(cluster.Nodes[0]);
        var kind = KindOf(cluster);
        await PostgresServer.ExecuteAsync(
            cluster.Database,
            $"insert into tunnel2_shared values ('{kind}-leases', '{Name}', 1, '\\x01', clock_timestamp(), "
                + "clock_timestamp() + interval '15 seconds')",
            Ending);
        var end = (DateTime)(await PostgresServer.AskAsync(
            cluster.Database, $"select touched_at from tunnel2_shared where kind = '{kind}-leases'", Ending))!;
        await using var third = await EntryFixture.StartNodeAsync(
            null, null,
            ["EntryId=e9", $"Cluster:Database={cluster.Database}", "StateFolder=" + _folder["state"], .. Settings(), "Acme:Names=" + Name]);
        await third.UntilAsync(() => Count(third, Obtained) > 0, "it is taken over", _long);
        var issued = (DateTime)(await PostgresServer.AskAsync(
            cluster.Database, $"select changed_at from tunnel2_shared where kind = '{kind}' and key = 'limits'", Ending))!;
        Assert.True(issued > end, $"It was ordered at {issued:O}, and the lease ended at {end:O}.");
        Assert.Equal((1, 1), (pebble.Orders, pebble.Accounts));
        Assert.Single((await SameAsync(cluster)).Append(await FingerprintAsync(third)).Distinct());
    }

    [Fact]
    public async Task Without_the_database_certificates_serve_on_nothing_is_ordered_and_the_refusal_says_why()
    {
        await Pebble.SkipWithoutAsync();
        await using var cluster = await StartAsync(2);
        await using var pebble = await StartPebbleAsync(cluster.Nodes[0]);
        await cluster.StartAgentAsync(cluster.Options(0, 0));
        await cluster.StartAgentAsync(cluster.Options(1, 0) with { Name = "next" });
        await FingerprintAsync(cluster.Nodes[0]);
        var before = Assert.Single((await SameAsync(cluster)).Distinct());
        await server.StopAsync();
        try
        {
            await cluster.Nodes[0].Log.WaitForAsync(2720);
            Assert.Equal(before, await FingerprintAsync(cluster.Nodes[0]));
            Assert.Equal(before, await FingerprintAsync(cluster.Nodes[1]));
            await FingerprintAsync(cluster.Nodes[0], "next.example.test");
            await cluster.Nodes[0].Log.WaitForAsync(NotObtained);
            var refusal = Assert.Single(cluster.Nodes[0].Part<AutomaticCertificates>().Refusals);
            Assert.Contains("the cluster's database is not available", refusal.Reason, StringComparison.Ordinal);
            Assert.Equal(1, pebble.Orders);
        }
        finally
        {
            await server.StartAsync();
        }

        await cluster.Nodes[0].UntilAsync(
            () => cluster.Nodes[0].Part<AutomaticCertificates>().Refusals.Count == 0, "nothing is in the way", _long);
        await FingerprintAsync(cluster.Nodes[0], "next.example.test");
        await cluster.Nodes[1].UntilAsync(
            () => Count(cluster.Nodes[1], Obtained) + Count(cluster.Nodes[1], OfOther) > 1, "it has both", _long);
        Assert.Equal(2, pebble.Orders);
    }

    [Fact]
    public async Task A_node_with_another_secret_orders_nothing_and_one_without_says_that_it_keeps_them_to_itself()
    {
        await Pebble.SkipWithoutAsync();
        await using var cluster = await StartAsync(1);
        await using var pebble = await StartPebbleAsync(cluster.Nodes[0]);
        await cluster.StartAgentAsync(cluster.Options(0, 0));
        await FingerprintAsync(cluster.Nodes[0]);
        await SameAsync(cluster);
        File.WriteAllText(_folder["other"], "another secret of thirty-two or more characters");
        await using var other = await EntryFixture.StartNodeAsync(
            null, null,
            [
                "EntryId=e8", $"Cluster:Database={cluster.Database}", "StateFolder=" + _folder["state8"], .. Settings(),
                "Acme:Names=more.example.test", "Cluster:Secret=" + _folder["other"],
            ]);
        await other.Log.WaitForAsync(NotObtained);
        Assert.Contains(other.Log.All, static line => line.EventId == NotObtained
            && line.Text.Contains("cannot be opened with this node's secret", StringComparison.Ordinal));
        await using var alone = await EntryFixture.StartNodeAsync(
            null, null,
            ["EntryId=e9", $"Cluster:Database={cluster.Database}", "StateFolder=" + _folder["state9"], .. Settings()[..^1]]);
        await alone.Log.WaitForAsync(2278);
        Assert.Equal(1, pebble.Orders);
        Assert.Equal(1, Count(cluster.Nodes[0], Obtained));
    }

    public void Dispose()
    {
        _authority.Dispose();
        _folder.Dispose();
    }

    private static int Count(EntryFixture node, int line) => node.Log.All.Count(one => one.EventId == line);

    private static async Task<string> FingerprintAsync(EntryFixture entry, string name = Name)
    {
        await using var visitor = await Tls.ConnectAsync(entry, name);
        return Tls.FingerprintOf(visitor);
    }

    /// <summary>Waits until each node has a certificate of the authority, and says which.</summary>
    private static async Task<string[]> SameAsync(RealCluster cluster)
    {
        foreach (var node in cluster.Nodes)
        {
            await node.UntilAsync(() => Count(node, Obtained) + Count(node, OfOther) > 0, "each node has the certificate", _long);
        }

        return await Task.WhenAll(cluster.Nodes.Select(static node => FingerprintAsync(node)));
    }

    private static async Task AskAsync(RealCluster cluster, int node)
    {
        await using var visitor = await RawHttpClient.ConnectAsync(cluster.Nodes[node].Http);
        Assert.Equal(200, (await visitor.ExchangeAsync("/", Name)).Head.StatusCode);
    }

    private static string KindOf(RealCluster cluster) =>
        "acme-" + Path.GetFileName(Assert.Single(Directory.GetDirectories(Path.Combine(cluster.StateOf(0), "acme"))))[^12..];

    private Task<RealCluster> StartAsync(int nodes, params string[] settings) =>
        RealCluster.StartAsync(server, nodes, [.. Settings(), .. settings]);

    /// <summary>The secret is the last one.</summary>
    private string[] Settings()
    {
        File.WriteAllText(_folder["secret"], "a secret of thirty-two or more characters");
        return [.. Pebble.Settings(_folder, _authority, _port), "Cluster:Secret=" + _folder["secret"]];
    }

    private Task<Pebble> StartPebbleAsync(EntryFixture comesTo, int refusedNonces = 0) =>
        Pebble.StartAsync(_folder, _authority, _port, (comesTo.Http.Port, comesTo.Https.Port), refusedNonces);
}
