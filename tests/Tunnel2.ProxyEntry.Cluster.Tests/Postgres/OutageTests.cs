using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.ProxyEntry.Cluster.Keeping;
using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Cluster.Tests.Model;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Postgres;

/// <summary>What a node does while a real database is down, hung, read-only, emptied or an older copy, and when it is back.</summary>
[Collection<PostgresCollection>]
public sealed class OutageTests(PostgresServer server) : IAsyncDisposable
{
    private readonly List<PostgresStore> _stores = [];
    private string _database = "";

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task A_database_that_crashes()
    {
        var node = await StartAsync("n1");
        await CheckOutageAsync(node, () => server.StopAsync(), () => server.StartAsync());
    }

    [Fact]
    public async Task A_database_that_hangs()
    {
        var node = await StartAsync("n1");
        await CheckOutageAsync(node, () => Run(server.Freeze), () => Run(server.Thaw));
    }

    /// <summary>It takes no request to cancel a call either: a node that stops would wait for each of its calls in turn.</summary>
    [Fact]
    public async Task A_database_that_hangs_does_not_hold_up_what_ends_its_calls()
    {
        // A call may take longer than the test waits.
        await using var connections = new PostgresConnections(await server.CreateDatabaseAsync(Ending), TimeSpan.FromMinutes(5));
        using var stop = new CancellationTokenSource();
        var begun = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var call = connections.CallAsync(
            async (connection, token) =>
            {
                await using var command = new Npgsql.NpgsqlCommand("select pg_sleep(600)", connection);
                var running = command.ExecuteNonQueryAsync(token);
                begun.SetResult();
                return await running;
            },
            stop.Token);
        await begun.Task.WaitAsync(AsyncCounter.DefaultTimeout, Ending);
        server.Freeze();
        try
        {
            await stop.CancelAsync().WaitAsync(AsyncCounter.DefaultTimeout, Ending);
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call);
        }
        finally
        {
            server.Thaw();
        }
    }

    [Fact]
    public async Task A_database_that_takes_no_writes()
    {
        var node = await StartAsync("n1");
        var name = _database.Split("Database=")[1];
        await CheckOutageAsync(
            node,
            () => BeginAsync(
                node,
                $"alter database {name} set default_transaction_read_only = on; select pg_terminate_backend(pid) from pg_stat_activity "
                    + $"where datname = '{name}' and pid <> pg_backend_pid()"),
            () => PostgresServer.ExecuteAsync(
                _database + ";Options=-c default_transaction_read_only=off",
                $"alter database {name} set default_transaction_read_only = off; select pg_terminate_backend(pid) from pg_stat_activity "
                    + $"where datname = '{name}' and pid <> pg_backend_pid()",
                Ending));
    }

    [Fact]
    public async Task A_database_that_takes_statements_and_fails_their_commits()
    {
        // As with a queue of notifications that is full: the statement has its rows, and the error comes after them. PostgreSQL frees
        // such a queue only where it is asked how full it is, when the client that held it is gone.
        _database = await server.CreateDatabaseAsync(Ending);
        var node = await StartAsync("n1", _database + ";Search Path=public,pg_catalog");
        await CheckOutageAsync(
            node,
            () => PostgresServer.ExecuteAsync(
                _database,
                "create function fail() returns trigger language plpgsql as "
                    + "$$ begin raise exception 'too many notifications in the NOTIFY queue' using errcode = '54000'; end $$; "
                    + "create constraint trigger fails after insert or update on tunnel2_names deferrable initially deferred "
                    + "for each row execute function fail(); create sequence asked; "
                    + "create function public.pg_notification_queue_usage() returns double precision language sql as "
                    + "$$ select nextval('asked')::double precision $$",
                Ending),
            () => PostgresServer.ExecuteAsync(_database, "drop function fail cascade", Ending),
            "its queue of notifications is full");

        // Not by each call that failed.
        Assert.Equal("1 true", await PostgresServer.AskAsync(_database, "select last_value || ' ' || is_called::text from asked", Ending));
    }

    [Fact]
    public async Task A_database_that_was_emptied()
    {
        var node = await StartAsync("n1");
        await RegisterAsync(node, "web");
        var epoch = node.EpochOf("web");
        await PostgresServer.ExecuteAsync(_database, "truncate tunnel2_names, tunnel2_nodes", Ending);
        await StepUntilAsync(node, () => node.EpochOf("web") > epoch);
        await CheckRowAsync(node, "web");

        // Nothing at all is left.
        epoch = node.EpochOf("web");
        await PostgresServer.ExecuteAsync(_database, "drop schema public cascade; create schema public", Ending);
        await StepUntilAsync(node, () => node.EpochOf("web") > epoch && node.State.Ready is not null);
        await CheckRowAsync(node, "web");
        Assert.NotNull(node.Find("web"));
    }

    [Theory]
    [InlineData(
        "drop table tunnel2_nodes, tunnel2_names, tunnel2_members, tunnel2_shared, tunnel2_shares, tunnel2_tunnels, tunnel2_schema")]
    [InlineData("drop table tunnel2_names")]
    [InlineData("drop table tunnel2_members, tunnel2_shares")]
    [InlineData("drop table tunnel2_nodes; drop sequence tunnel2_epochs")]
    [InlineData("drop function tunnel2_lives; drop table tunnel2_schema, tunnel2_nodes")]
    public async Task A_database_of_which_a_part_was_removed_by_hand(string statements)
    {
        var node = await StartAsync("n1");
        await RegisterAsync(node, "web");
        var epoch = node.EpochOf("web");
        await PostgresServer.ExecuteAsync(_database, statements, Ending);
        node.State.MarkUnready("It looks again.");
        await StepUntilAsync(node, () => node.EpochOf("web") > epoch && node.State.Ready is not null);
        await CheckRowAsync(node, "web");
        Assert.Equal(0L, await PostgresServer.AskAsync(_database, PostgresSql.MissingParts, Ending));

        // A node that comes finds all of it, too.
        var other = await StartAsync("n2");
        await RegisterAsync(other, "more", "b");
        await CheckRowAsync(other, "more");
    }

    [Fact]
    public async Task Tables_that_become_too_new_while_a_node_runs()
    {
        var node = await StartAsync("n1");
        await RegisterAsync(node, "web");
        await PostgresServer.ExecuteAsync(_database, "update tunnel2_schema set version = 1000, least_node = 1000", Ending);
        node.State.MarkUnready("It looks again.");
        for (var i = 0; i < 3; i++)
        {
            await node.Keeper.StepAsync(Ending);
            Assert.Null(node.State.Ready);
            Assert.Contains("its schema 1000 needs a newer release of this node", node.State.Trouble, StringComparison.Ordinal);
            Assert.NotNull(node.Find("web"));
        }

        await PostgresServer.ExecuteAsync(_database, "update tunnel2_schema set version = 10, least_node = 1", Ending);
        await StepUntilAsync(node, () => node.State.Ready is not null);
        await CheckRowAsync(node, "web");
    }

    [Theory]
    [InlineData("drop table tunnel2_shared")]
    [InlineData("drop table tunnel2_tunnels")]
    [InlineData("drop function tunnel2_change")]
    public async Task A_part_that_is_seldom_used_is_missed_when_a_node_tidies(string statements)
    {
        await StartAsync("n1");
        await _stores[0].TidyAsync(Ending);
        await PostgresServer.ExecuteAsync(_database, statements, Ending);
        var trouble = await Assert.ThrowsAsync<StoreUnavailableException>(() => _stores[0].TidyAsync(Ending));
        Assert.True(trouble.IsSchemaMissing);
        await _stores[0].PrepareAsync(Ending);
        await _stores[0].TidyAsync(Ending);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_database_of_which_an_older_copy_was_put_back(bool isLeaseRenewedFirst)
    {
        var node = await StartAsync("n1");
        var other = await StartAsync("n2");
        var moved = await RegisterAsync(node, "moved");
        var left = await RegisterAsync(node, "left");
        await PostgresServer.ExecuteAsync(
            _database,
            "create table copy_names as table tunnel2_names; create table copy_nodes as table tunnel2_nodes; "
                + "create table copy_epochs as select last_value from tunnel2_epochs",
            Ending);
        await RegisterAsync(other, "moved");
        node.Directory.Lose("moved", other.EpochOf("moved"), "n2", []);
        Assert.True(moved.IsLeaving);
        await node.Directory.UnregisterAsync("left", left.Epoch, false, Ending);
        await StepUntilAsync(node, () => node.State.Ready is not null);
        await RegisterAsync(node, "new");
        var (movedEpoch, newEpoch) = (other.EpochOf("moved"), node.EpochOf("new"));

        // Yesterday's: all leases in it are over.
        await PostgresServer.ExecuteAsync(
            _database,
            "truncate tunnel2_names, tunnel2_nodes; insert into tunnel2_names table copy_names; "
                + "insert into tunnel2_nodes table copy_nodes; update tunnel2_nodes set lease_until = now() - interval '1 day'; "
                + "select setval('tunnel2_epochs', last_value) from copy_epochs",
            Ending);
        if (isLeaseRenewedFirst)
        {
            // The node finds out by its lease, and not by its names: what the copy has of an older lease stays there.
            node.State.MarkUnready("It looks again.");
        }

        await StepUntilAsync(node, () => node.EpochOf("new") > newEpoch && node.State.Ready is not null);
        await StepUntilAsync(other, () => other.EpochOf("moved") > movedEpoch && other.State.Ready is not null);
        await CheckRowAsync(node, "new");
        await CheckRowAsync(other, "moved");
        Assert.Null(node.Find("moved"));

        // A row of a lease that is over leads nowhere, and prevents no other.
        Assert.Equal(
            0L,
            await PostgresServer.AskAsync(
                _database,
                "select count(*) from tunnel2_names where name = 'left' and state < 2 and tunnel2_lives(node, incarnation)", Ending));
        await RegisterAsync(other, "left", "b");
    }

    [Fact]
    public async Task A_database_that_fails_over_to_its_standby()
    {
        await using var primary = new PostgresServer();
        await primary.InitializeAsync();
        var first = await primary.CreateDatabaseAsync(Ending);
        await using var standby = await primary.CreateStandbyAsync();
        var both = first.Replace(primary.Host, $"{primary.Host},{standby.Host}", StringComparison.Ordinal)
            + ";Target Session Attributes=primary";
        _database = first.Replace(primary.Host, standby.Host, StringComparison.Ordinal);
        var node = await StartAsync("n1", both);
        await RegisterAsync(node, "web");
        var epoch = node.EpochOf("web");
        await primary.StopAsync();
        await node.StepAsync();
        Assert.NotNull(node.Find("web"));
        await standby.PromoteAsync();
        await StepUntilAsync(node, () => node.State.Ready is not null);
        await RegisterAsync(node, "web");
        Assert.True(node.EpochOf("web") > epoch);
        await CheckRowAsync(node, "web");
    }

    [Fact]
    public async Task Many_agents_at_once_all_have_their_names_and_the_node_stays_in_the_cluster()
    {
        var node = await StartAsync("n1");
        var results = await Task.WhenAll(
            Enumerable.Range(0, 200).Select(i => node.RegisterAsync(TestNode.CreateSession($"web{i}", "a"))));
        Assert.All(results, static result => Assert.Equal((RegistrationStatus.Registered, null), (result.Status, result.Reason)));
        Assert.NotNull(node.State.Ready);
        Assert.Equal(200L, await PostgresServer.AskAsync(_database, "select count(*) from tunnel2_names where state = 0", Ending));
    }

    [Fact]
    public async Task A_takeover_at_another_node_is_heard_and_ends_the_older_session()
    {
        var node = await StartAsync("n1");
        var other = await StartAsync("n2");
        var session = await RegisterAsync(node, "web");
        var member = await JoinAsync(node, _stores[0]);
        await using (member)
        {
            var ended = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            await using var registration = session.Leaving.Register(ended.SetResult);
            await RegisterAsync(other, "web");
            await ended.Task.WaitAsync(TimeSpan.FromSeconds(60), Ending);
            Assert.Null(node.Find("web"));
            await CheckRowAsync(other, "web");
        }

        // It said goodbye: its lease is over.
        Assert.Equal(
            true, await PostgresServer.AskAsync(_database, "select lease_until <= now() from tunnel2_nodes where node = 'n1'", Ending));
    }

    [Fact]
    public async Task A_role_with_the_rights_of_the_document_is_enough()
    {
        _database = await server.CreateDatabaseAsync(Ending);
        await using (var owner = new PostgresStore(_database, NullLogger<PostgresStore>.Instance))
        {
            await owner.PrepareAsync(Ending);
        }

        await PostgresServer.ExecuteAsync(_database, RightsInDocument(), Ending);
        var asRole = _database.Replace("Username=postgres", "Username=tunnel2_node", StringComparison.Ordinal);
        await using (var patient = new PostgresStore(asRole, NullLogger<PostgresStore>.Instance, TimeSpan.FromSeconds(30)))
        {
            await patient.TidyAsync(Ending);
        }

        var node = await StartAsync("n1", asRole);
        var session = await RegisterAsync(node, "web");
        var member = await JoinAsync(node, _stores[0]);
        await using (member)
        {
            await node.Directory.UnregisterAsync("web", session.Epoch, true, Ending);
        }

        await Assert.ThrowsAsync<Npgsql.PostgresException>(
            () => PostgresServer.ExecuteAsync(asRole, "drop table tunnel2_names", Ending));
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var store in _stores)
        {
            await store.DisposeAsync();
        }
    }

    /// <summary>The statements of docs/cluster.md for a role that may not change the tables.</summary>
    private static string RightsInDocument()
    {
        var text = File.ReadAllText(Path.Combine(TestUtilities.RepositoryFolder.Path, "docs", "cluster.md"));
        var begin = text.IndexOf("```sql\n", StringComparison.Ordinal) + 7;
        return text[begin..text.IndexOf("```", begin, StringComparison.Ordinal)];
    }

    private static Task Run(Action action)
    {
        action();
        return Task.CompletedTask;
    }

    /// <summary>Steps until it is so: each step is a call to the database, which has an end.</summary>
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
        for (var i = 0; ; i++)
        {
            var session = TestNode.CreateSession(name, agent);
            var result = await node.RegisterAsync(session);
            if (result.Status == RegistrationStatus.Registered || i == 60)
            {
                Assert.Equal((RegistrationStatus.Registered, null), (result.Status, result.Reason));
                await StepUntilAsync(node, () => node.EpochOf(name) > 0);
                return session;
            }

            await node.StepAsync();
        }
    }

    private async Task<TestNode> StartAsync(string name, string? database = null)
    {
        _database = _database.Length > 0 ? _database : await server.CreateDatabaseAsync(Ending);
        var store = new PostgresStore(database ?? _database, NullLogger<PostgresStore>.Instance);
        _stores.Add(store);
        var node = new TestNode(name, store, TimeProvider.System);
        await StepUntilAsync(node, () => node.State.Ready is not null);
        return node;
    }

    private static async Task<ClusterMember> JoinAsync(TestNode node, PostgresStore store)
    {
        var member = node.CreateMember(store);
        await member.StartAsync();
        return member;
    }

    private async Task CheckRowAsync(TestNode node, string name) => Assert.Equal(
        $"{node.State.Facts.Node} {node.EpochOf(name)}",
        await PostgresServer.AskAsync(
            _database, $"select node || ' ' || epoch from tunnel2_names where name = '{name}' and state < 2", Ending));

    /// <summary>Connections that are to be ended may answer once more: the outage has begun when the keeper has noticed it.</summary>
    private async Task BeginAsync(TestNode node, string statements)
    {
        await PostgresServer.ExecuteAsync(_database, statements, Ending);
        await StepUntilAsync(node, () => node.Keeper.IsFailing);
    }

    private async Task CheckOutageAsync(TestNode node, Func<Task> begin, Func<Task> end, string reason = "")
    {
        await RegisterAsync(node, "web");
        var epoch = node.EpochOf("web");
        await begin();
        try
        {
            // The first call finds out, and is over after a second; no later one is made.
            var first = await node.RegisterAsync(TestNode.CreateSession("web", "a"));
            Assert.Equal(RegistrationStatus.Registered, first.Status);
            Assert.Null(node.State.Ready);
            Assert.NotNull(node.Find("web"));
            var refused = await node.RegisterAsync(TestNode.CreateSession("new", "a"));
            Assert.Equal(RegistrationStatus.Unavailable, refused.Status);
            Assert.StartsWith("The cluster's database is not available (", refused.Reason, StringComparison.Ordinal);
            Assert.Contains(reason, refused.Reason, StringComparison.Ordinal);
            await node.StepAsync();
            Assert.True(node.Keeper.IsFailing);
            Assert.NotNull(node.Find("web"));
            Assert.Equal(
                RegistrationStatus.Registered, (await node.RegisterAsync(TestNode.CreateSession("web", "a"))).Status);
        }
        finally
        {
            await end();
        }

        await StepUntilAsync(node, () => node.State.Ready is not null && node.EpochOf("web") > epoch);
        await CheckRowAsync(node, "web");
        await RegisterAsync(node, "new");
    }
}
