using System.Net;
using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Https;
using Tunnel2.FunctionalTests.Pools;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Cluster;

/// <summary>A node that is killed in the middle of an order for a certificate, with a real authority and a real database.</summary>
[Collection(RealProcessesCollection.Name)]
public sealed class KilledOrderTests(PostgresServer server) : IClassFixture<PostgresServer>, IDisposable
{
    private const string Name = "web.example.test";

    private readonly TemporaryFolder _folder = new();
    private readonly TestAuthority _authority = new();
    private readonly int _port = FreePort.Next();

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Another_node_completes_the_order_of_a_killed_one_within_its_lease_and_no_second_one_is_made_or_counted()
    {
        await Pebble.SkipWithoutAsync();
        var database = await server.CreateDatabaseAsync(Ending);
        new ClusterAuthority(_folder["cluster"], DateTimeOffset.UtcNow.AddDays(-60)).Create();
        var authority = new ClusterAuthority(_folder["cluster"], DateTimeOffset.UtcNow);
        File.WriteAllText(_folder["secret"], "a secret of thirty-two or more characters");
        var ports = (Killed: FreePort.Next(), Kept: FreePort.Next());
        await using var killed = await StartAsync("e1", database, authority, ports.Killed);
        await using var kept = await StartAsync("e2", database, authority, ports.Kept);
        await using var gate = new VisitGate(kept.Public);
        await using var pebble = await Pebble.StartAsync(_folder, _authority, _port, (gate.Port, ports.Kept));
        await using var service = new NamedService("a");
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(kept.Uplink.Port, service.Port));
        await using (var visitor = await RawHttpClient.ConnectAsync(killed.Public))
        {
            // So that it knows where the tunnel is.
            Assert.Equal(200, (await visitor.ExchangeAsync("/", Name)).Head.StatusCode);
        }

        Assert.DoesNotContain("Pebble", await IssuerAsync(ports.Killed), StringComparison.Ordinal);
        await gate.Visited.WaitAsync(TimeSpan.FromSeconds(60), Ending);
        killed.Runner.Kill();
        var at = TimeProvider.System.GetTimestamp();

        // The authority's visit comes to the other node, which did not begin the order and has the answer all the same.
        gate.Open();
        while (!(await IssuerAsync(ports.Kept)).Contains("Pebble", StringComparison.Ordinal))
        {
            try
            {
                await kept.Runner.WaitForLineAsync(
                    static line => line.Contains("Certificate for", StringComparison.Ordinal), TimeSpan.FromSeconds(1), Ending);
            }
            catch (TimeoutException)
            {
                // The next visitor comes.
            }

            var took = TimeProvider.System.GetElapsedTime(at);
            Assert.True(took < TimeSpan.FromSeconds(60), $"There is no certificate {took} after the node was killed.");
        }

        TestContext.Current.TestOutputHelper?.WriteLine($"{TimeProvider.System.GetElapsedTime(at)} after the node was killed");
        Assert.Equal((1, 1), (pebble.Orders, pebble.Accounts));
        var limits = (byte[])(await PostgresServer.AskAsync(
            database, "select value from tunnel2_shared where kind like 'acme-%' and key = 'limits'", Ending))!;
        using var json = JsonDocument.Parse(limits);
        Assert.Equal(1, json.RootElement.GetProperty("orders").GetArrayLength());
        Assert.Equal(0L, await PostgresServer.AskAsync(
            database, "select count(*) from tunnel2_shared where kind like '%-orders'", Ending));

        // It is started again, and serves with the certificate that the other one has got.
        await killed.StartAgainAsync();
        Assert.Contains("Pebble", await IssuerAsync(ports.Killed), StringComparison.Ordinal);
        Assert.Equal(1, pebble.Orders);
    }

    public void Dispose()
    {
        _authority.Dispose();
        _folder.Dispose();
    }

    private static async Task<string> IssuerAsync(int port)
    {
        await using var visitor = await Tls.ConnectAsync(new IPEndPoint(IPAddress.Loopback, port), Name);
        return visitor.RemoteCertificate!.Issuer;
    }

    private Task<EntryProcess> StartAsync(string id, string database, ClusterAuthority authority, int https)
    {
        authority.Issue(id, TimeSpan.FromDays(30));
        return EntryProcess.StartAsync(
        [
            .. Pebble.Settings(_folder, _authority, _port).Select(static setting => "--Tunnel2:" + setting),
            $"--Tunnel2:Public:HttpsListen=127.0.0.1:{https}", $"--Tunnel2:StateFolder={_folder["state-" + id]}",
            $"--Tunnel2:EntryId={id}", $"--Tunnel2:Cluster:Database={database}", $"--Tunnel2:Cluster:Secret={_folder["secret"]}",
            $"--Tunnel2:Cluster:Listen={new IPEndPoint(IPAddress.Loopback, FreePort.Next())}",
            $"--Tunnel2:Cluster:Certificate={Path.Combine(_folder["cluster"], id + ".pem")}",
            $"--Tunnel2:Cluster:Ca={Path.Combine(_folder["cluster"], "ca.pem")}",
        ]);
    }
}
