using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Postgres;

/// <summary>The tables of the release before are taken over, and its nodes continue beside those of this one.</summary>
[Collection<PostgresCollection>]
public sealed class MigrationTests(PostgresServer server)
{
    /// <summary>What a node of the release before says when a session of its own takes a name.</summary>
    private const string OlderClaim =
        """
        insert into tunnel2_names as s (name, node, incarnation, epoch, identity, owner, instance, weight, state, kept_until)
        values ('web', 'old', (select incarnation from tunnel2_nodes where node = 'old'), nextval('tunnel2_epochs'), '\x01', '\x01', '\x09',
            1, 0, clock_timestamp())
        on conflict (name) do update set node = excluded.node, incarnation = excluded.incarnation, epoch = nextval('tunnel2_epochs'),
            identity = excluded.identity, owner = excluded.owner, instance = excluded.instance, weight = excluded.weight, state = 0,
            kept_until = excluded.kept_until
        where s.state < 2 and s.identity = excluded.identity or s.state = 2 and s.owner = excluded.owner
        """;

    private static readonly TimeSpan _lease = TimeSpan.FromDays(1);

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Tables_of_the_release_before_keep_their_names_and_the_rights_of_roles()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await PostgresServer.ExecuteAsync(
            database,
            await PostgresSchema.ReadAsync(1, Ending)
                + """
                ;create table tunnel2_schema (version integer not null, least_node integer not null, changed_at timestamptz not null);
                insert into tunnel2_schema values (1, 1, clock_timestamp());
                insert into tunnel2_nodes values (
                    'old', gen_random_uuid(), nextval('tunnel2_epochs'), 'old:1', '1', clock_timestamp() + interval '1 day',
                    clock_timestamp());
                """
                + OlderClaim,
            Ending);
        var role = $"few_{Guid.NewGuid():N}";
        await PostgresServer.ExecuteAsync(
            database, $"create role {role}; grant select, insert, update, delete on tunnel2_names to {role}", Ending);
        await using var store = Open(database);
        await store.PrepareAsync(Ending);
        Assert.Equal("old", Assert.Single((await store.LocateAsync("web", Ending)).Places!.All).Node.NodeId);
        Assert.Equal(
            true, await PostgresServer.AskAsync(database, $"select has_table_privilege('{role}', 'tunnel2_members', 'update')", Ending));
    }

    [Fact]
    public async Task A_node_of_the_release_before_takes_a_shared_name_as_a_whole_and_gives_it_back()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await using var store = Open(database);
        await store.PrepareAsync(Ending);
        var leases = new List<NodeLease>();
        foreach (var name in new[] { "old", "n1", "n2" })
        {
            leases.Add((await store.AcquireAsync(new NodeFacts(name, Guid.NewGuid(), $"{name}:1", "1"), _lease, true, 0, Ending))!);
        }

        var first = await store.ClaimAsync(leases[1], ClaimOf(1), Ending);
        var second = await store.ClaimAsync(leases[2], ClaimOf(2), Ending);
        Assert.Equal(["n1", "n2"], (await store.LocateAsync("web", Ending)).Places!.All.Select(static place => place.Node.NodeId).Order());

        await PostgresServer.ExecuteAsync(database, OlderClaim, Ending);
        Assert.Equal("old", Assert.Single((await store.LocateAsync("web", Ending)).Places!.All).Node.NodeId);
        Assert.Equal(0, (await store.SumAsync(leases[1], Ending)).Count);
        Assert.Empty(await store.ListAsync(leases[2], Ending));
        var late = await store.PublishAsync(leases[1], [ClaimOf(1) with { Base = first.Epoch }], Ending);
        Assert.Equal((ClaimStatus.Taken, "old"), (late[0].Status, late[0].Node));

        // Its session says goodbye, as that release does it.
        await PostgresServer.ExecuteAsync(
            database, "update tunnel2_names set state = 2, kept_until = clock_timestamp() + interval '1 day' where node = 'old'", Ending);
        Assert.Null((await store.LocateAsync("web", Ending)).Places);
        var again = await store.ClaimAsync(leases[1], ClaimOf(1), Ending);
        Assert.True(again.Status == ClaimStatus.Claimed && again.Epoch > second.Epoch);

        // What the other one had before the name was taken does not come back by itself.
        Assert.Equal("n1", Assert.Single((await store.LocateAsync("web", Ending)).Places!.All).Node.NodeId);
        await PostgresServer.ExecuteAsync(database, OlderClaim, Ending);
        Assert.Equal("old", Assert.Single((await store.LocateAsync("web", Ending)).Places!.All).Node.NodeId);
    }

    [Fact]
    public async Task What_is_left_or_lost_long_ago_is_removed_and_no_more()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await using var store = Open(database);
        await store.PrepareAsync(Ending);
        var leases = new List<NodeLease>();
        foreach (var name in new[] { "n1", "n2" })
        {
            leases.Add((await store.AcquireAsync(new NodeFacts(name, Guid.NewGuid(), $"{name}:1", "1"), _lease, true, 0, Ending))!);
        }

        var first = await store.ClaimAsync(leases[0], ClaimOf(1), Ending);
        await store.ClaimAsync(leases[1], ClaimOf(2), Ending);
        await store.ChangeAsync(leases[0], [new NameChange("web", first.Epoch, StoredState.Left, IsHealthy: true)], Ending);
        await store.TidyAsync(Ending);
        Assert.Equal(2L, await CountAsync(database, "tunnel2_members"));
        await PostgresServer.ExecuteAsync(
            database, "update tunnel2_members set kept_until = kept_until - interval '11 minutes' where state = 2", Ending);
        await store.TidyAsync(Ending);
        Assert.Equal((1L, 1L), (await CountAsync(database, "tunnel2_members"), await CountAsync(database, "tunnel2_names")));
        Assert.Equal("n2", Assert.Single((await store.LocateAsync("web", Ending)).Places!.All).Node.NodeId);

        await PostgresServer.ExecuteAsync(database, "update tunnel2_nodes set lease_until = lease_until - interval '3 days'", Ending);
        await store.TidyAsync(Ending);
        await store.TidyAsync(Ending);
        Assert.Equal((0L, 0L), (await CountAsync(database, "tunnel2_members"), await CountAsync(database, "tunnel2_names")));
    }

    private static Task<object?> CountAsync(string database, string table) =>
        PostgresServer.AskAsync(database, $"select count(*) from {table}", Ending);

    private static NameClaim ClaimOf(byte member) => new("web", [1], [1], [member], Share: new NameShare([5], [member], IsPool: true));

    private static PostgresStore Open(string database) => new(database, NullLogger<PostgresStore>.Instance, TimeSpan.FromSeconds(30));
}
