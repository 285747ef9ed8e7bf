using Microsoft.Extensions.Logging.Abstractions;
using Npgsql;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Cluster.Tests.Model;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Postgres;

/// <summary>What an operator may do to the tables by hand, in good faith or not: rows that no node writes, and locks that stay.</summary>
[Collection<PostgresCollection>]
public sealed class HandmadeRowsTests(PostgresServer server) : IAsyncDisposable
{
    private readonly List<PostgresStore> _stores = [];
    private string _database = "";

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Calls_that_are_given_up_leave_no_query_that_waits_for_a_lock()
    {
        var node = await StartAsync("n1");
        await RegisterAsync(node, "web");
        await using var operators = new NpgsqlConnection(_database);
        await operators.OpenAsync(Ending);
        await using (var transaction = await operators.BeginTransactionAsync(Ending))
        {
            await ExecuteAsync(operators, "lock table tunnel2_names");
            for (var i = 0; i < 5; i++)
            {
                var lost = await Assert.ThrowsAsync<StoreUnavailableException>(() => _stores[0].LocateAsync("web", Ending));
                Assert.Equal("a transaction has locked a table or a row", lost.Reason);
            }

            // The last one may be there for a moment yet.
            Assert.InRange((long)(await AskAsync("select count(*) from pg_locks where not granted"))!, 0, 2);
            Assert.NotNull(node.Find("web"));
        }

        await StepUntilAsync(node, () => node.State.Ready is not null);
    }

    [Fact]
    public async Task A_locked_row_holds_up_no_other_name()
    {
        var node = await StartAsync("n1");
        await RegisterAsync(node, "web");
        var other = await RegisterAsync(node, "other");
        await using var operators = new NpgsqlConnection(_database);
        await operators.OpenAsync(Ending);
        await using (var transaction = await operators.BeginTransactionAsync(Ending))
        {
            await ExecuteAsync(operators, "update tunnel2_names set weight = weight where name = 'web'");

            // Its own agent is served all the same, and the database hears of it later.
            await RegisterAsync(node, "web");
            await node.Directory.UnregisterAsync("other", other.Epoch, false, Ending);
            await node.StepAsync();
            Assert.False(node.Keeper.IsFailing, node.State.Trouble);
            Assert.NotNull(node.State.Ready);
            Assert.Equal(0L, node.EpochOf("web"));
            await RegisterAsync(node, "new");
            Assert.Equal(1L, await AskAsync("select count(*) from tunnel2_names where name = 'other' and state = 2"));
        }

        await StepUntilAsync(node, () => node.EpochOf("web") > 0);
    }

    [Fact]
    public async Task Two_rows_of_one_epoch_are_set_right_and_the_node_continues()
    {
        var node = await StartAsync("n1");
        await RegisterAsync(node, "one");
        await RegisterAsync(node, "two");
        var epoch = node.EpochOf("two");
        await DoAsync("update tunnel2_names set epoch = (select epoch from tunnel2_names where name = 'one') where name = 'two'");
        await StepUntilAsync(node, () => node.EpochOf("two") > epoch && node.State.Ready is not null);
        Assert.Equal(2L, await AskAsync("select count(distinct epoch) from tunnel2_names where state = 0"));
        Assert.NotNull(node.Find("one"));
        Assert.NotNull(node.Find("two"));
    }

    [Theory]
    [InlineData("infinity", false)]
    [InlineData("294000-01-01", false)]
    [InlineData("-infinity", false)]
    [InlineData("infinity", true)]
    [InlineData("294000-01-01", true)]
    [InlineData("-infinity", true)]
    public async Task A_name_that_is_kept_until_any_time_is_refused_or_given_and_harms_no_other(string until, bool isShared)
    {
        var node = await StartAsync("n1");
        var first = await RegisterAsync(node, "web");
        await node.Directory.UnregisterAsync("web", first.Epoch, true, Ending);
        await StepUntilAsync(node, () => !node.Names.HasWorkUnsynchronized);
        var other = await StartAsync("n2");
        await DoAsync($"update tunnel2_names set state = 2, kept_until = '{until}' where name = 'web'");
        var result = await other.RegisterAsync(TestNode.CreateSession("web", "b", isSpread: isShared));
        if (until[0] == '-')
        {
            Assert.Equal(RegistrationStatus.Registered, result.Status);
        }
        else
        {
            Assert.Equal(RegistrationStatus.NameTaken, result.Status);
            Assert.InRange(result.FreeIn, TimeSpan.FromMinutes(59), TimeSpan.FromHours(1));
        }

        Assert.NotNull(other.State.Ready);
        await RegisterAsync(other, "new", "b");
    }

    [Theory]
    [InlineData("infinity")]
    [InlineData("294000-01-01")]
    [InlineData("-infinity")]
    public async Task A_lease_until_any_time_can_be_listed_and_asked_for(string until)
    {
        var node = await StartAsync("n1");
        await RegisterAsync(node, "web");
        await DoAsync("insert into tunnel2_nodes (node, process, incarnation, link_address, version, lease_until, joined_at) "
            + $"values ('dead', gen_random_uuid(), 7, '', '1', '{until}', now())");
        await DoAsync("update tunnel2_names set node = 'dead', incarnation = 7 where name = 'web'");
        var listed = await _stores[0].ListNodesAsync(Ending);
        Assert.Equal(["dead", "n1"], listed.Select(static one => one.Node).Order(StringComparer.Ordinal));
        await _stores[0].LookAroundAsync("n1", Ending);
        var result = await _stores[0].ClaimAsync(
            node.State.Ready!, Cluster.Names.Digests.ClaimOf(TestNode.CreateSession("web", "b", owner: "a"), "n1"), Ending);
        Assert.Equal(until[0] == '-' ? ClaimStatus.Claimed : ClaimStatus.Taken, result.Status);
        Assert.InRange(result.LeaseRest, TimeSpan.Zero, TimeSpan.FromHours(1));
    }

    [Fact]
    public async Task An_epoch_at_the_end_of_all_numbers_does_not_use_them_up()
    {
        var node = await StartAsync("n1");
        await RegisterAsync(node, "web");
        await DoAsync($"update tunnel2_names set epoch = {long.MaxValue - 1} where name = 'web'");
        node.State.See((await _stores[0].LocateAsync("web", Ending)).Places!.Newest);
        await StepUntilAsync(node, () => node.EpochOf("web") is > 0 and < NodeState.MostEpoch);
        await RegisterAsync(node, "new");
        var other = await StartAsync("n2");
        await RegisterAsync(other, "third");
        Assert.InRange((long)(await AskAsync("select last_value from tunnel2_epochs"))!, 1, NodeState.MostEpoch);
    }

    [Theory]
    [InlineData("'NaN', 'NaN'")]
    [InlineData("'Infinity', 'Infinity'")]
    [InlineData("-1e300, -1e300")]
    public async Task Shares_of_limits_that_are_no_numbers_count_as_none(string values)
    {
        await StartAsync("n1");
        await DoAsync("insert into tunnel2_shares (name, node, share, demand, part, kept_until) "
            + $"values ('web', 'n1', '\\x01', {values}, now() + interval '6 s'), ('web', 'n2', '\\x01', {values}, now() + interval '6 s')");
        ShareView? seen = null;
        await _stores[0].Shares.ExchangeAsync(
            "n1",
            [new ShareWish("web", [1], 0.5, view =>
            {
                seen = view;
                return 0.5;
            })],
            ShareView.Expiry, Ending);
        var next = Cluster.Limits.TierShares.Next(0.5, seen!.Value);
        Assert.InRange(next.Share, 0, 1);
        Assert.InRange(seen.Value.Own, 0, 1);
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var store in _stores)
        {
            await store.DisposeAsync();
        }
    }

    private static async Task StepUntilAsync(TestNode node, Func<bool> isSo)
    {
        for (var i = 0; i < 100 && !isSo(); i++)
        {
            node.Keeper.AskForComparison();
            await node.StepAsync();
        }

        Assert.True(isSo(), $"It did not become so: {node.State.Trouble}");
    }

    private static async Task<EntrySession> RegisterAsync(TestNode node, string name, string agent = "a")
    {
        var session = TestNode.CreateSession(name, agent);
        var result = await node.RegisterAsync(session);
        Assert.Equal((RegistrationStatus.Registered, null), (result.Status, result.Reason));
        return session;
    }

    private static async Task ExecuteAsync(NpgsqlConnection connection, string text)
    {
        await using var command = new NpgsqlCommand(text, connection);
        await command.ExecuteNonQueryAsync(Ending);
    }

    private Task DoAsync(string text) => PostgresServer.ExecuteAsync(_database, text, Ending);

    private Task<object?> AskAsync(string text) => PostgresServer.AskAsync(_database, text, Ending);

    private async Task<TestNode> StartAsync(string name)
    {
        _database = _database.Length > 0 ? _database : await server.CreateDatabaseAsync(Ending);
        var store = new PostgresStore(_database, NullLogger<PostgresStore>.Instance);
        _stores.Add(store);
        var node = new TestNode(name, store, TimeProvider.System);
        await StepUntilAsync(node, () => node.State.Ready is not null);
        return node;
    }
}
