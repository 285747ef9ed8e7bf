using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Whom an agent trusts of the announced nodes. The second node is another host: 127.0.0.2.</summary>
public sealed class AnnouncedTlsTests(PostgresServer server) : IClassFixture<PostgresServer>, IDisposable
{
    private const string First = "127.0.0.1";
    private const string Second = "127.0.0.2";
    private static readonly string _token = "Agents:a:TokenHash=" + EntryTokens.HashSetting("secret");
    private readonly TemporaryFolder _folder = new();
    private readonly TestAuthority _authority = new();

    [Fact]
    public async Task An_authority_vouches_for_the_announced_host()
    {
        await using var cluster = await StartAsync(_authority.Issue(First), _authority.Issue(Second));
        var agent = await StartAsync(cluster, new TlsOptions { ServerCaFile = _folder["ca.pem"] });
        await agent.Events.WaitForServersAsync(2);
        Assert.Equal(["a", "a"], [await cluster.AskAsync(0), await cluster.AskAsync(1)]);
        Assert.Equal((0d, 0d), (cluster.PassedBy(0), cluster.PassedBy(1)));
    }

    [Fact]
    public async Task A_certificate_for_the_given_host_is_none_for_the_announced_one()
    {
        await using var cluster = await StartAsync(_authority.Issue(First), _authority.Issue(First));
        var agent = await StartAsync(cluster, new TlsOptions { ServerCaFile = _folder["ca.pem"] });
        await AssertRefusedAsync(cluster, agent, "is for '127.0.0.1', not for '127.0.0.2'");
    }

    [Fact]
    public async Task Both_certificates_are_pinned()
    {
        var (first, second) = (_authority.Issue(First), _authority.Issue(Second));
        await using var cluster = await StartAsync(first, second);
        var agent = await StartAsync(
            cluster, new TlsOptions { ServerFingerprints = [TestAuthority.Fingerprint(first), TestAuthority.Fingerprint(second)] });
        await agent.Events.WaitForServersAsync(2);
        Assert.Equal(["a", "a"], [await cluster.AskAsync(0), await cluster.AskAsync(1)]);
    }

    [Fact]
    public async Task A_pin_of_the_given_server_trusts_no_announced_one()
    {
        var first = _authority.Issue(First);
        await using var cluster = await StartAsync(first, _authority.Issue(Second));
        var agent = await StartAsync(cluster, new TlsOptions { ServerFingerprints = [TestAuthority.Fingerprint(first)] });
        await AssertRefusedAsync(cluster, agent, "not the one given");
    }

    [Fact]
    public async Task Without_tls_another_host_is_not_even_dialled()
    {
        using var listener = new TcpListener(IPAddress.Parse(Second), 0);
        listener.Start();
        var address = (IPEndPoint)listener.LocalEndpoint;
        await using var cluster = await RealCluster.StartAnnouncedAsync(
            server, ["a", "b"], node => node == 0 ? [_token] : [_token, $"Cluster:Uplink={address}"]);
        await cluster.WaitForAnnouncedAsync(1);
        var agent = await cluster.StartAgentAsync(cluster.Options(0, 0) with { Token = "secret", AllowPlaintextToken = true });
        await AssertRefusedAsync(cluster, agent, "without TLS only nodes at the host of the server are", address.Port);
        Assert.False(listener.Pending());
    }

    [Fact]
    public async Task What_answers_without_tls_at_an_announced_address_sees_no_token()
    {
        var seen = new ConcurrentQueue<byte[]>();
        await using var listener = RawTcpServer.Start(async connection =>
        {
            await connection.WriteAsync(RawUplink.Welcome().ToFrame());
            var got = new byte[16_384];
            seen.Enqueue(got[..await connection.Socket.ReceiveAsync(got)]);
        });
        File.WriteAllText(_folder["0.pem"], _authority.Issue(First));
        File.WriteAllText(_folder["ca.pem"], _authority.Pem);
        await using var cluster = await RealCluster.StartAnnouncedAsync(server, ["a", "b"], node =>
            [_token, $"Uplink:Certificate={_folder["0.pem"]}", .. node == 0 ? [] : new[] { $"Cluster:Uplink={listener.EndPoint}" }]);
        await cluster.WaitForAnnouncedAsync(1);
        var agent = await cluster.StartAgentAsync(
            cluster.Options(0, 0) with { Token = "secret", Tls = new TlsOptions { ServerCaFile = _folder["ca.pem"] } });
        await WaitSignal.UntilAsync(() => !seen.IsEmpty, "the agent has come", TimeSpan.FromSeconds(60));
        Assert.All(seen, static bytes => Assert.Equal((0x16, -1), (bytes[0], bytes.AsSpan().IndexOf("secret"u8))));
        Assert.Equal("a", await cluster.AskAsync(0));
        Assert.Equal(0, await agent.StopAsync());
    }

    public void Dispose()
    {
        _authority.Dispose();
        _folder.Dispose();
    }

    /// <summary>The agent says once which node it does not use and why, and its first session serves.</summary>
    private static async Task AssertRefusedAsync(RealCluster cluster, AgentFixture agent, string words, int? port = null)
    {
        await WaitSignal.UntilAsync(
            () => agent.Events.ServerChanges.LastOrDefault() is [{ IsConnected: true }, { IsConnected: false, Message: not null }],
            "the refusal is said", TimeSpan.FromSeconds(60));
        var second = agent.Events.ServerChanges.Last()[1];
        Assert.Contains(words, second.Message, StringComparison.Ordinal);
        Assert.Equal(new ServerEndpoint(Second, port ?? cluster.Nodes[1].Uplink.Port), second.Server);
        Assert.Equal(["a", "a"], [await cluster.AskAsync(0), await cluster.AskAsync(1)]);
        Assert.Equal(0, cluster.Nodes[1].Directory.Count);
        Assert.Equal(0, agent.Events.EndCount.Value);
        Assert.Equal(0, await agent.StopAsync());
    }

    private async Task<RealCluster> StartAsync(string first, string second)
    {
        File.WriteAllText(_folder["ca.pem"], _authority.Pem);
        var cluster = await RealCluster.StartAnnouncedAsync(server, ["a", "b"], node =>
        {
            var (host, pem) = node == 0 ? (First, first) : (Second, second);
            var uplink = $"{host}:{FreePort.Next()}";
            File.WriteAllText(_folder[$"{node}.pem"], pem);
            return [$"Uplink:Listen={uplink}", $"Cluster:Uplink={uplink}", $"Uplink:Certificate={_folder[$"{node}.pem"]}"];
        });
        await cluster.WaitForAnnouncedAsync(1);
        return cluster;
    }

    private static Task<AgentFixture> StartAsync(RealCluster cluster, TlsOptions tls) =>
        cluster.StartAgentAsync(cluster.Options(0, 0) with { Tls = tls });
}
