using System.Net;
using Tunnel2.FunctionalTests.Administration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>
/// A name whose agent was at another node and is away, at a node that is past the phase in which it waits for every name.
/// </summary>
public sealed class AwayNameTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-away-");
    private readonly FakeLocator _locator = new();

    [Fact]
    public async Task A_request_waits_for_an_agent_that_is_expected_back_and_gets_it()
    {
        await using var node = await StartAsync("Timeouts:Park=50s");
        await using var service = RawTcpServer.Start(static async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            await connection.WaitForEndAsync();
        });
        _locator.Awaited["web"] = TimeSpan.FromSeconds(40);
        await using var visitor = await RawHttpClient.ConnectAsync(node.Http);
        await visitor.SendRequestAsync("/", ClusterFixture.Host);
        await node.WaitForParkedAsync(1);
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(node.Uplink.Port, service.Port));
        Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
    }

    [Theory]
    [InlineData("web", "web.localhost")]
    [InlineData("app.example.org", "app.example.org")]
    public async Task A_request_for_a_name_whose_time_is_over_gets_a_503_at_once(string name, string host)
    {
        await using var node = await StartAsync("Timeouts:Park=50s");
        _locator.Awaited[name] = TimeSpan.Zero;
        var clock = System.Diagnostics.Stopwatch.StartNew();
        var (status, error) = await AskAsync(node, host);
        Assert.Equal((503, "agent-offline"), (status, error));
        Assert.True(clock.Elapsed < TimeSpan.FromSeconds(25), $"It took {clock.Elapsed}.");
    }

    [Fact]
    public async Task The_wait_ends_when_the_agent_is_no_longer_expected()
    {
        await using var node = await StartAsync("Timeouts:Park=50s");
        _locator.Awaited["web"] = TimeSpan.FromMilliseconds(300);
        var clock = System.Diagnostics.Stopwatch.StartNew();
        Assert.Equal((503, "agent-offline"), await AskAsync(node, ClusterFixture.Host));
        Assert.True(clock.Elapsed < TimeSpan.FromSeconds(25), $"It took {clock.Elapsed}.");
    }

    [Fact]
    public async Task A_name_that_no_node_had_is_unknown()
    {
        await using var node = await StartAsync("Timeouts:Park=50s");
        Assert.Equal((404, "unknown-name"), await AskAsync(node, ClusterFixture.Host));
    }

    [Theory]
    [InlineData("web.localhost")]
    [InlineData("app.example.org")]
    public async Task A_name_for_which_the_cluster_cannot_be_asked_is_not_called_unknown(string host)
    {
        await using var node = await StartAsync("Timeouts:Park=50s");
        _locator.IsSilent = true;
        var clock = System.Diagnostics.Stopwatch.StartNew();
        Assert.Equal((503, "name-unchecked"), await AskAsync(node, host));
        Assert.True(clock.Elapsed < TimeSpan.FromSeconds(25), $"It took {clock.Elapsed}.");
    }

    [Theory]
    [InlineData(false, 404, "unknown-name")]
    [InlineData(true, 503, "agent-offline")]
    public async Task A_request_waits_for_an_answer_of_the_cluster_and_gets_what_it_says(bool isKnown, int status, string error)
    {
        await using var node = await StartAsync("Timeouts:Park=50s");
        _locator.IsSilent = true;
        await using var visitor = await RawHttpClient.ConnectAsync(node.Http);
        await visitor.SendRequestAsync("/", ClusterFixture.Host);
        await node.WaitForParkedAsync(1);
        if (isKnown)
        {
            _locator.Awaited["web"] = TimeSpan.Zero;
        }

        _locator.IsSilent = false;
        var head = await visitor.ReadHeadAsync();
        Assert.Equal((status, error), (head.StatusCode, head["Tunnel2-Error"]));
    }

    [Fact]
    public async Task A_policy_of_a_name_for_which_the_cluster_cannot_be_asked_may_be_set_later()
    {
        await using var node = await StartAsync();
        _locator.IsSilent = true;
        using var api = new AdminApi(node);
        await api.RefusedAsync(503, "cluster-database", "PUT", "policies/names/web", """[{"path":"/a","deny":true}]""");
    }

    public void Dispose() => _folder.Delete(recursive: true);

    private static async Task<(int Status, string? Error)> AskAsync(EntryFixture node, string host)
    {
        await using var visitor = await RawHttpClient.ConnectAsync(node.Http);
        var (head, _) = await visitor.ExchangeAsync("/", host);
        return (head.StatusCode, head["Tunnel2-Error"]);
    }

    private async Task<EntryFixture> StartAsync(params string[] settings)
    {
        new ClusterAuthority(_folder.FullName, DateTimeOffset.UtcNow.AddDays(-60)).Create();
        new ClusterAuthority(_folder.FullName, DateTimeOffset.UtcNow).Issue("e1", TimeSpan.FromDays(30));
        var clock = new AheadClock();
        var node = await EntryFixture.StartNodeAsync(
            _locator,
            clock,
            [
                "EntryId=e1",
                $"Cluster:Listen={new IPEndPoint(IPAddress.Loopback, 0)}",
                $"Cluster:Certificate={Path.Combine(_folder.FullName, "e1.pem")}",
                $"Cluster:Ca={Path.Combine(_folder.FullName, "ca.pem")}",
                .. settings,
            ]);
        clock.Jump(ParkingPolicy.StartPhase);
        return node;
    }

    /// <summary>The clock of the system, which may be put ahead.</summary>
    private sealed class AheadClock : TimeProvider
    {
        private long _ahead;

        public void Jump(TimeSpan time) => Interlocked.Add(ref _ahead, (long)(time.TotalSeconds * TimestampFrequency));

        public override long GetTimestamp() => System.GetTimestamp() + Interlocked.Read(ref _ahead);
    }
}
