using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Postgres;

/// <summary>Shares of limits in a real database.</summary>
[Collection<PostgresCollection>]
public sealed class PostgresSharesTests(PostgresServer server)
{
    private static readonly TimeSpan _long = TimeSpan.FromHours(1);

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task A_node_sees_what_others_have_until_they_give_it_up_or_it_is_too_old()
    {
        await using var store = await OpenAsync();
        foreach (var node in new[] { "n1", "n2", "n3" })
        {
            var lease = await store.AcquireAsync(new NodeFacts(node, Guid.NewGuid(), $"{node}:1", "1"), _long, true, 0, Ending);
            await store.ClaimAsync(
                lease!, new NameClaim("web", [1], [1], [1], Share: new NameShare([7], [(byte)node[1]], IsPool: true)), Ending);
        }

        var seen = new List<ShareView>();
        await TellAsync(store, "n1", seen, 0.8, 0.6);
        await TellAsync(store, "n2", seen, 0.5, 0.4);
        await TellAsync(store, "n1", seen, 0.7, null);
        await TellAsync(store, "n2", seen, 0.5, 1);
        Assert.Equal([0, 0, 0.6, 0.4], seen.Select(static view => view.Own));
        Assert.All(seen, static view => Assert.Equal(3, view.Nodes));
        Assert.Equal(
            [[], [new ShareReport("n1", 0.8, 0.6)], [new ShareReport("n2", 0.5, 0.4)], []],
            seen.Select(static view => view.Others));

        // Of another group nothing is known; and what was reported for no time is gone.
        await store.Shares.ExchangeAsync("n3", [Wish("web", [8], seen, 1, 1)], _long, Ending);
        Assert.Equal((0, 0, 0), (seen[^1].Own, seen[^1].Others.Count, seen[^1].Nodes));
        await store.Shares.ExchangeAsync("n2", [Wish("web", [7], seen, 1, 1)], TimeSpan.Zero, Ending);
        await TellAsync(store, "n1", seen, 1, 1);
        Assert.Empty(seen[^1].Others);
        await store.TidyAsync(Ending);
    }

    [Fact]
    public async Task A_node_of_which_nothing_is_heard_is_seen_while_it_has_sessions()
    {
        await using var store = await OpenAsync();
        var leases = new Dictionary<string, NodeLease>();
        var second = new NodeFacts("n2", Guid.NewGuid(), "n2:1", "1");

        // The lease of n2 was renewed 4 s ago, as far as can be seen.
        foreach (var (node, lease) in new[] { ("n1", _long), ("n2", TimeSpan.FromSeconds(6)), ("n3", _long) })
        {
            leases[node] = (await store.AcquireAsync(
                node == "n2" ? second : new NodeFacts(node, Guid.NewGuid(), $"{node}:1", "1"), lease, true, 0, Ending))!;
            var claimed = await store.ClaimAsync(
                leases[node], new NameClaim("web", [1], [1], [1], Share: new NameShare([7], [(byte)node[1]], IsPool: true)), Ending);
            Assert.Equal(ClaimStatus.Claimed, claimed.Status);
        }

        var seen = new List<ShareView>();
        await store.Shares.ExchangeAsync("n3", [Wish("web", [7], seen, 0.5, 0.4)], _long - TimeSpan.FromSeconds(3), Ending);
        await TellAsync(store, "n1", seen, 1, 0.3);
        Assert.Equal(
            [new ShareReport("n2", 0, 0, IsSilent: true), new ShareReport("n3", 0, 0.4, IsSilent: true)],
            seen[^1].Others.OrderBy(static other => other.Node));
        Assert.Equal(3, seen[^1].Nodes);

        // Its lease is over.
        Assert.True(await store.RenewAsync(second, leases["n2"], TimeSpan.FromSeconds(-1), 0, Ending));
        await TellAsync(store, "n1", seen, 1, 0.3);
        Assert.Equal(
            [new ShareReport("n2", 0, 0, IsLost: true), new ShareReport("n3", 0, 0.4, IsSilent: true)],
            seen[^1].Others.OrderBy(static other => other.Node));

        // It starts again, and its sessions are elsewhere.
        await store.AcquireAsync(new NodeFacts("n2", Guid.NewGuid(), "n2:1", "1"), _long, true, 0, Ending);
        await TellAsync(store, "n3", seen, 0.5, 0.4);
        await TellAsync(store, "n1", seen, 1, 0.3);
        Assert.Equal([new ShareReport("n3", 0.5, 0.4)], seen[^1].Others);
        Assert.Equal(2, seen[^1].Nodes);
    }

    [Fact]
    public async Task What_was_given_up_in_the_middle_was_not_reported()
    {
        await using var store = await OpenAsync();
        await Assert.ThrowsAnyAsync<Exception>(() => store.Shares.ExchangeAsync(
            "n1", [new ShareWish("web", [7], 1, static _ => throw new OperationCanceledException())], _long, Ending));
        var seen = new List<ShareView>();
        await TellAsync(store, "n2", seen, 1, 1);
        Assert.Empty(seen[0].Others);
    }

    [Fact]
    public async Task Nodes_that_report_many_names_at_once_never_spend_more_than_is_there()
    {
        await using var store = await OpenAsync();
        var names = Enumerable.Range(0, 100).Select(static i => $"web{i}").ToList();
        var sums = new double[names.Count];
        await Task.WhenAll(Enumerable.Range(0, 6).Select(node => store.Shares.ExchangeAsync(
            $"n{node}",
            [
                .. names.OrderBy(name => HashCode.Combine(name, node)).Select(name => new ShareWish(name, [7], 1, view =>
                {
                    var share = Math.Min(0.4, 1 - view.Others.Sum(static other => other.Share));
                    sums[names.IndexOf(name)] += share;
                    return share;
                })),
            ],
            _long,
            Ending)));
        Assert.All(sums, static sum => Assert.Equal(1, sum, 6));
    }

    private async Task<PostgresStore> OpenAsync()
    {
        var store = new PostgresStore(
            await server.CreateDatabaseAsync(Ending), NullLogger<PostgresStore>.Instance, TimeSpan.FromSeconds(30));
        await store.PrepareAsync(Ending);
        return store;
    }

    private static Task TellAsync(PostgresStore store, string node, List<ShareView> seen, double demand, double? share) =>
        store.Shares.ExchangeAsync(node, [Wish("web", [7], seen, demand, share)], _long, Ending);

    private static ShareWish Wish(string name, byte[] group, List<ShareView> seen, double demand, double? share) =>
        new(name, group, demand, view =>
        {
            seen.Add(view);
            return share;
        });
}
