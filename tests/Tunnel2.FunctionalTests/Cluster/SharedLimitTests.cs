using System.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.ProxyEntry.Cluster.Limits;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>The limit of a name that has sessions at several nodes, over a real database, with the agent that people run.</summary>
public sealed class SharedLimitTests(PostgresServer server) : IClassFixture<PostgresServer>
{
    private const int Rate = 60;

    private static readonly TimeSpan _long = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task Three_nodes_spend_one_limit_which_follows_the_demand_and_is_shared_without_the_database()
    {
        await using var cluster = await StartAsync(3);
        await using (var first = new Flood(cluster, 0))
        await using (var second = new Flood(cluster, 1))
        {
            await SharesAsync(cluster, static shares => shares[0] > 0.2 && shares[1] > 0.2 && Math.Abs(shares.Sum() - 1) < 0.1);
            var (before, clock) = (first.Served + second.Served, Stopwatch.StartNew());
            await WaitSignal.UntilAsync(() => clock.Elapsed > TimeSpan.FromSeconds(10), "ten seconds have passed", _long);
            var (served, seconds) = (first.Served + second.Served - before, clock.Elapsed.TotalSeconds);

            // Twice as much would pass if each node had the limit. A machine that is busy may ask for less.
            Assert.InRange(served, 0.7 * Rate * seconds, (1.1 * Rate * seconds) + 5);
            Assert.True(first.Refused > 0 && second.Refused > 0);
        }

        // All of it comes to the third one.
        await using var third = new Flood(cluster, 2);
        await SharesAsync(cluster, static shares => shares[2] > 0.95);

        // The database goes, and requests continue; the demand is no longer known anywhere else.
        await server.StopAsync();
        await SharesAsync(cluster, static shares => shares.All(static share => Math.Abs(share - (1.0 / 3)) < 0.01));
        var outage = (third.Served, third.Refused);
        await WaitSignal.UntilAsync(
            () => third.Served > outage.Served + 20 && third.Refused > outage.Refused, "requests are served and limited", _long);
        await server.StartAsync();
        await SharesAsync(cluster, static shares => shares[2] > 0.95);
        Assert.Null(third.Problem);
    }

    [Fact]
    public async Task A_name_with_sessions_at_one_node_alone_has_its_whole_limit_there_until_another_one_comes()
    {
        await using var cluster = await StartAsync(2, agents: 1);
        await SharesAsync(cluster, static shares => shares[0] == 1);
        await cluster.StartAgentAsync(cluster.Options(1, 1) with { Pool = true, Token = "secret" });
        await SharesAsync(cluster, static shares => shares[0] < 0.1 && shares[1] < 0.1);
        await using (var flood = new Flood(cluster, 1))
        {
            await SharesAsync(cluster, static shares => shares[1] > 0.9);
        }

        // A node that stops in order gives its share back.
        await cluster.Nodes[1].StopAsync();
        await WaitSignal.UntilAsync(() => ShareOf(cluster, 0) == 1, "the other one has all", _long);
    }

    private async Task<RealCluster> StartAsync(int nodes, int? agents = null)
    {
        var cluster = await RealCluster.StartAsync(
            server, nodes, "Agents:a:TokenHash=" + EntryTokens.HashSetting("secret"), "Agents:a:Tier=shared",
            $"Tiers:shared:RequestsPerSecond={Rate}");
        for (var i = 0; i < (agents ?? nodes); i++)
        {
            await cluster.StartAgentAsync(cluster.Options(i, i) with { Pool = true, Token = "secret" });
        }

        return cluster;
    }

    private static double ShareOf(RealCluster cluster, int node) => cluster.Nodes[node].Part<SharedLimits>().ShareOf("web") ?? 0;

    private static Task SharesAsync(RealCluster cluster, Func<double[], bool> holds) => WaitSignal.UntilAsync(
        () => holds([.. Enumerable.Range(0, cluster.Nodes.Count).Select(node => ShareOf(cluster, node))]), "shares are as wanted", _long);

    /// <summary>Visitors of a node that ask without a pause.</summary>
    private sealed class Flood : IAsyncDisposable
    {
        private readonly CancellationTokenSource _stopping = new();
        private readonly Task _asking;
        private int _served;
        private int _refused;

        public Flood(RealCluster cluster, int node) =>
            _asking = Task.WhenAll(Enumerable.Range(0, 2).Select(_ => Task.Run(() => AskAsync(cluster.Nodes[node]))));

        public int Served => Volatile.Read(ref _served);

        public int Refused => Volatile.Read(ref _refused);

        public string? Problem { get; private set; }

        public async ValueTask DisposeAsync()
        {
            await _stopping.CancelAsync();
            await _asking;
            Assert.Null(Problem);
            _stopping.Dispose();
        }

        private async Task AskAsync(EntryFixture node)
        {
            await using var visitor = await RawHttpClient.ConnectAsync(node.Http);

            // At twice the limit in all; more would only keep the processors busy.
            using var pace = new PeriodicTimer(TimeSpan.FromMilliseconds(12));
            while (!_stopping.IsCancellationRequested)
            {
                var (head, _) = await visitor.ExchangeAsync("/", ClusterFixture.Host);
                if (head.StatusCode == 200)
                {
                    Interlocked.Increment(ref _served);
                }
                else if (head["Tunnel2-Error"] == "rate-limit")
                {
                    Interlocked.Increment(ref _refused);
                }
                else
                {
                    Problem = $"{head.StatusCode} {head["Tunnel2-Error"]}";
                }

                await pace.WaitForNextTickAsync();
            }
        }
    }
}
