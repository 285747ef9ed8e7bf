using Tunnel2.FunctionalTests.Access;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>People sign in wherever they come in: the node of the session reads their cookies, and no service does.</summary>
[Trait("Engine", "each")]
public sealed class SignInAcrossTests
{
    private const string Gated = "gated";
    private const string GatedHost = "gated.localhost";

    [Fact]
    public async Task A_sign_in_at_another_node_ends_with_a_session_that_counts_there()
    {
        await using var provider = new TestProvider();
        using var folder = new TemporaryFolder();
        await File.WriteAllTextAsync(folder["secret"], "s3cret\n");
        await ClusterFixture.RunAsync(
            ServeAsync,
            async cluster =>
            {
                await using var agent = await StartAsync(cluster);
                var cookies = new Dictionary<string, string>();
                var login = await OpenAsync(cluster, cookies, "/.tunnel2/login?to=%2Fa");
                var back = await OpenAsync(cluster, cookies, provider.Agree(new Uri(login["Location"]!)));
                Assert.Equal((302, "/a"), (back.StatusCode, back["Location"]));
                Assert.Equal(["__Host-tunnel2"], cookies.Keys);

                cookies["mine"] = "1";
                var page = await OpenAsync(cluster, cookies, "/a");
                Assert.Equal(
                    (200, "alice@example.com", "mine=1"), (page.StatusCode, page["X-Seen-User"], page["X-Seen-Cookie"]));

                // A tunnel without the gate, at the other node, gets none of them either.
                Assert.Equal("mine=1", (await OpenAsync(cluster, cookies, "/", ClusterFixture.Host))["X-Seen-Cookie"]);
            },
            2,
            "TrustedProxies=127.0.0.1",
            $"StateFolder={folder["state"]}",
            $"Oidc:staff:Authority={provider.Name}",
            "Oidc:staff:ClientId=tunnel",
            $"Oidc:staff:ClientSecretFile={folder["secret"]}",
            "Oidc:staff:AllowEmails=alice@example.com");
    }

    private static async Task<AgentFixture> StartAsync(ClusterFixture cluster)
    {
        var options = AgentFixture.Options(cluster.Owner.Uplink.Port, cluster.Service, Gated);
        var agent = await AgentFixture.StartReadyAsync(options with { Access = new AccessRules { Gate = "staff" } });
        var epoch = cluster.Owner.Directory.Snapshot().Single(static session => session.Name == Gated).Epoch;
        cluster.Locators.ForEach(locator => locator.Truth[Gated] = cluster.PlaceOf(0, epoch));
        return agent;
    }

    private static async Task<RawHttpHead> OpenAsync(
        ClusterFixture cluster, Dictionary<string, string> cookies, string target, string host = GatedHost)
    {
        await using var visitor = await cluster.ConnectAsync();
        var sent = cookies.Count == 0 ? "" : $"Cookie: {string.Join("; ", cookies.Select(static one => $"{one.Key}={one.Value}"))}\r\n";
        var (head, _) = await visitor.ExchangeAsync(
            target, host, "GET", $"X-Forwarded-Proto: https\r\nX-Forwarded-For: 192.0.2.1\r\nSec-Fetch-Mode: navigate\r\n{sent}");
        foreach (var set in head.All("Set-Cookie").Select(static line => line.Split(';')[0].Split('=', 2)))
        {
            cookies[set[0]] = set[1];
            if (set[1].Length == 0)
            {
                cookies.Remove(set[0]);
            }
        }

        return head;
    }

    private static async Task ServeAsync(RawConnection service)
    {
        while (true)
        {
            RawHttpHead head;
            try
            {
                head = await service.ReadHeadAsync();
            }
            catch (RawConnectionEndedException)
            {
                return;
            }

            await service.WriteAsync(
                $"HTTP/1.1 200 OK\r\nX-Seen-User: {head["X-Tunnel2-User"]}\r\nX-Seen-Cookie: {head["Cookie"]}\r\n"
                    + "Content-Length: 0\r\n\r\n");
        }
    }
}
