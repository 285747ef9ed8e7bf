using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Cluster.Tests.Model;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Postgres;

/// <summary>The statements do what the reference does.</summary>
[Collection<PostgresCollection>]
public sealed class PostgresStoreTests(PostgresServer server)
{
    private const int Histories = 12;
    private const int Steps = 60;

    /// <summary>Long and none: the database's clock cannot be moved.</summary>
    private static readonly TimeSpan[] _times = [TimeSpan.Zero, TimeSpan.FromDays(1)];

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Random_calls_have_the_answers_of_the_reference()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await SeededRandom.RunAsync(async random =>
        {
            for (var i = 0; i < Histories; i++)
            {
                await CompareAsync(random, database);
                await PostgresServer.ExecuteAsync(database, "truncate tunnel2_names, tunnel2_members, tunnel2_nodes", Ending);
            }
        });
    }

    [Fact]
    public async Task Many_nodes_that_start_together_make_the_tables_once()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        var stores = Enumerable.Range(0, 8).Select(_ => Open(database)).ToList();
        await Task.WhenAll(stores.Select(store => store.PrepareAsync(Ending)));
        Assert.Equal(1L, await PostgresServer.AskAsync(database, "select count(*) from tunnel2_schema", Ending));
        foreach (var store in stores)
        {
            await store.DisposeAsync();
        }
    }

    [Fact]
    public async Task What_an_operator_can_mend_is_said_in_words()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        var role = $"none_{Guid.NewGuid():N}";
        await PostgresServer.ExecuteAsync(database, $"create role {role} login", Ending);
        await using var stranger = Open($"{database};Username={role}");
        Assert.Equal("its role lacks a right that nodes need", await ReasonAsync(stranger));
        await using var owner = Open(database);
        await owner.PrepareAsync(Ending);
        Assert.Equal("its role lacks a right that nodes need", await ReasonAsync(stranger));
        await using var nowhere = Open($"{database};Database=nowhere");
        Assert.Equal("there is no such database", await ReasonAsync(nowhere));
        await using var nobody = Open($"{database};Username={role}_x");
        Assert.Equal("it refuses the login", await ReasonAsync(nobody));

        static async Task<string> ReasonAsync(PostgresStore store) =>
            (await Assert.ThrowsAsync<StoreUnavailableException>(() => store.PrepareAsync(Ending))).Reason;
    }

    [Fact]
    public async Task Tables_of_a_later_release_are_used_unless_they_say_otherwise()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await using var store = Open(database);
        await store.PrepareAsync(Ending);
        await PostgresServer.ExecuteAsync(database, "update tunnel2_schema set version = 1000", Ending);
        await store.PrepareAsync(Ending);
        Assert.NotNull(await store.AcquireAsync(Facts("n1"), _times[1], true, 0, Ending));
        await PostgresServer.ExecuteAsync(database, "update tunnel2_schema set least_node = 1000", Ending);
        var refused = await Assert.ThrowsAsync<StoreUnavailableException>(() => store.PrepareAsync(Ending));
        Assert.Contains("needs a newer release", refused.Reason, StringComparison.Ordinal);

        // Nor does this node use what is in them beside names.
        var kept = await Assert.ThrowsAsync<StoreUnavailableException>(
            () => store.FillSharedAsync("tokens", Guid.NewGuid(), isNew: true, [], Ending));
        Assert.Equal(refused.Reason, kept.Reason);
        await PostgresServer.ExecuteAsync(database, "update tunnel2_schema set least_node = 1", Ending);
        await store.PrepareAsync(Ending);
        await store.FillSharedAsync("tokens", Guid.NewGuid(), isNew: true, [], Ending);
    }

    [Fact]
    public async Task Tunnels_of_other_nodes_are_listed_for_as_long_as_their_registration_counts()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await using var store = Open(database);
        await store.PrepareAsync(Ending);
        var one = (await store.AcquireAsync(Facts("n1"), _times[1], true, 0, Ending))!;
        var two = (await store.AcquireAsync(Facts("n2"), _times[1], true, 0, Ending))!;
        static NameClaim Claim(string name, byte agent, SessionKind kind, int port, NameShare? share = null) =>
            new(name, [agent], [agent], [agent], Share: share, Kind: kind, Port: port);

        await store.ClaimAsync(one, Claim("web", 1, SessionKind.Http, 0), Ending);
        await store.ClaimAsync(one, Claim("ssh", 1, SessionKind.Tcp, 20_001), Ending);
        await store.ClaimAsync(one, Claim("app.example.org", 1, SessionKind.Tls, 0), Ending);
        await store.ClaimAsync(one, Claim("pool", 1, SessionKind.Udp, 20_002, new NameShare([7], [1], IsPool: true)), Ending);
        Assert.Equal(
            [new("ssh", SessionKind.Tcp, 20_001), new("app.example.org", SessionKind.Tls, 0), new("pool", SessionKind.Udp, 20_002)],
            await store.ListTunnelsAsync("n2", 10, Ending));
        Assert.Single(await store.ListTunnelsAsync("n2", 1, Ending));
        Assert.Empty(await store.ListTunnelsAsync("n1", 10, Ending));

        // The newer registration of a name counts, for any content of the older one; one that is refused does not.
        Assert.Equal(ClaimStatus.Taken, (await store.ClaimAsync(two, Claim("web", 2, SessionKind.Tcp, 20_003), Ending)).Status);
        await store.ClaimAsync(two, Claim("app.example.org", 1, SessionKind.Http, 0), Ending);
        Assert.Equal(["ssh", "pool"], (await store.ListTunnelsAsync("n2", 10, Ending)).Select(static tunnel => tunnel.Name));
        Assert.Empty(await store.ListTunnelsAsync("n1", 10, Ending));
        await store.TidyAsync(Ending);
        Assert.Equal(2L, await PostgresServer.AskAsync(database, "select count(*) from tunnel2_tunnels", Ending));
        await store.ReleaseAsync(one, Ending);
        Assert.Empty(await store.ListTunnelsAsync("n2", 10, Ending));
    }

    [Fact]
    public async Task Of_many_claims_at_once_each_has_an_epoch_of_its_own_and_the_last_has_the_name()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await using var store = Open(database);
        await store.PrepareAsync(Ending);
        var leases = await Task.WhenAll(
            Enumerable.Range(0, 4).Select(async i => (await store.AcquireAsync(Facts($"n{i}"), _times[1], true, 0, Ending))!));
        var results = new List<ClaimResult>();
        for (var round = 0; round < 10; round++)
        {
            results.AddRange(await Task.WhenAll(
                leases.Select(lease => store.ClaimAsync(lease, new NameClaim("web", [1], [1], [1]), Ending))));
        }

        Assert.All(results, static result => Assert.Equal(ClaimStatus.Claimed, result.Status));
        Assert.Equal(results.Count, results.Select(static result => result.Epoch).Distinct().Count());
        Assert.Equal(
            results.Max(static result => result.Epoch), (await store.LocateAsync("web", Ending)).Places!.Newest);
    }

    [Fact]
    public async Task A_look_up_says_how_long_the_agent_of_a_name_is_expected_back()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await using var store = Open(database);
        await store.PrepareAsync(Ending);
        var lease = (await store.AcquireAsync(Facts("n1"), _times[1], true, 0, Ending))!;
        Assert.Equal(default, await store.LocateAsync("web", Ending));
        var left = await store.ClaimAsync(lease, new NameClaim("left", [1], [1], [1]), Ending);
        await store.ClaimAsync(lease, new NameClaim("web", [1], [1], [1]), Ending);
        await store.ChangeAsync(lease, [new NameChange("left", left.Epoch, StoredState.Left, TimeSpan.FromMinutes(30))], Ending);
        Assert.InRange((await store.LocateAsync("left", Ending)).AwaitedFor!.Value, TimeSpan.FromMinutes(20), TimeSpan.FromMinutes(30));
        Assert.NotNull((await store.LocateAsync("web", Ending)).Places);

        // Ten seconds after the end of its node's lease, and after its node was started again.
        await store.ReleaseAsync(lease, Ending);
        Assert.True((await store.LocateAsync("web", Ending)).AwaitedFor <= TimeSpan.FromSeconds(10));
        await AssertAwaitedAsync("update tunnel2_nodes set lease_until = clock_timestamp() - interval '15 seconds'", 0);
        await AssertAwaitedAsync("update tunnel2_nodes set lease_until = '-infinity'", 0);
        await store.AcquireAsync(Facts("n1"), _times[1], true, 0, Ending);
        await AssertAwaitedAsync("update tunnel2_nodes set joined_at = clock_timestamp() + interval '20 minutes'", 600);
        await AssertAwaitedAsync("update tunnel2_nodes set joined_at = clock_timestamp() - interval '15 seconds'", 0);
        await AssertAwaitedAsync("delete from tunnel2_nodes", 0);
        await AssertAwaitedAsync("update tunnel2_names set state = 2, kept_until = 'infinity'", 3600);

        async Task AssertAwaitedAsync(string change, double seconds)
        {
            await PostgresServer.ExecuteAsync(database, change, Ending);
            var (places, rest) = await store.LocateAsync("web", Ending);
            Assert.Null(places);
            Assert.Equal(seconds > 0, rest > TimeSpan.Zero);
            Assert.True(rest >= TimeSpan.FromSeconds(seconds), $"{change}: {rest}");
        }
    }

    [Fact]
    public async Task Epochs_continue_above_those_that_a_node_knows()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await using var store = Open(database);
        await store.PrepareAsync(Ending);
        var lease = (await store.AcquireAsync(Facts("n1"), _times[1], true, 0, Ending))!;
        var before = (await store.ClaimAsync(lease, new NameClaim("web", [1], [1], [1]), Ending)).Epoch;
        await PostgresServer.ExecuteAsync(database, "select setval('tunnel2_epochs', 1); truncate tunnel2_names", Ending);
        Assert.True(await store.RenewAsync(Facts("n1"), lease, _times[1], before + 5, Ending) is false, "another process");
        lease = (await store.AcquireAsync(Facts("n1"), _times[1], true, before + 50_000_000_000, Ending))!;
        Assert.True((await store.ClaimAsync(lease, new NameClaim("web", [1], [1], [1]), Ending)).Epoch > before + 50_000_000_000);
    }

    [Fact]
    public async Task Two_clusters_in_two_schemas_of_a_database_do_not_know_each_other()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await PostgresServer.ExecuteAsync(database, "create schema other", Ending);
        await using var store = Open(database);
        await using var other = Open(database + ";Search Path=other");
        await store.PrepareAsync(Ending);
        await other.PrepareAsync(Ending);
        var (lease, otherLease) = (
            (await store.AcquireAsync(Facts("n1"), _times[1], true, 0, Ending))!,
            (await other.AcquireAsync(Facts("n1"), _times[1], true, 0, Ending))!);
        var listening = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var heard = new TaskCompletionSource<NameNotice>(TaskCreationOptions.RunContinuationsAsynchronously);
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(Ending);
        var hearing = other.ListenAsync(
            listening.SetResult, notice => heard.TrySetResult(notice), static _ => { }, static _ => { }, stop.Token);
        await listening.Task.WaitAsync(TimeSpan.FromSeconds(60), Ending);
        await store.ClaimAsync(lease, new NameClaim("web", [1], [1], [1]), Ending);
        var claim = await other.ClaimAsync(otherLease, new NameClaim("api", [2], [2], [2]), Ending);
        Assert.Equal(
            ("api", "n1", claim.Epoch, "n1:1"),
            await heard.Task.WaitAsync(TimeSpan.FromSeconds(60), Ending) is var notice
                ? (notice.Name, notice.Node, notice.Epoch, notice.LinkAddress)
                : default);
        Assert.Null((await other.LocateAsync("web", Ending)).Places);
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => hearing);
    }

    [Fact]
    public async Task A_node_that_leaves_says_so_and_the_order_of_the_others_stays()
    {
        await using var store = Open(await server.CreateDatabaseAsync(Ending));
        await store.PrepareAsync(Ending);
        var leases = new List<NodeLease>();
        for (var i = 1; i <= 12; i++)
        {
            var facts = Facts($"n{i}") with { UplinkAddress = $"n{i}.example.com:1" };
            leases.Add((await store.AcquireAsync(facts, TimeSpan.FromSeconds(60), true, 0, Ending))!);
        }

        var first = (await store.LookAroundAsync("n1", Ending)).Announced;
        Assert.Equal(NodeSurroundings.MostAnnounced, first.Count);
        Assert.Equal(first, (await store.LookAroundAsync("n1", Ending)).Announced);
        Assert.NotEqual(
            first.Select(static one => one.Node).Order(StringComparer.Ordinal),
            (await store.LookAroundAsync("n2", Ending)).Announced.Select(static one => one.Node).Order(StringComparer.Ordinal));
        var listening = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var heard = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(Ending);
        var hearing = store.ListenAsync(
            listening.SetResult, static _ => { }, node => heard.TrySetResult(node), static _ => { }, stop.Token);
        await listening.Task.WaitAsync(TimeSpan.FromSeconds(60), Ending);
        await store.ReleaseAsync(leases.Single(lease => lease.Node == first[0].Node), Ending);
        Assert.Equal(first[0].Node, await heard.Task.WaitAsync(TimeSpan.FromSeconds(60), Ending));
        Assert.Equal(first.Skip(1), (await store.LookAroundAsync("n1", Ending)).Announced.Take(first.Count - 1));
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => hearing);
    }

    [Fact]
    public async Task A_node_that_is_drained_learns_it_and_is_shown_so_until_it_is_undone_or_the_node_was_started_again()
    {
        await using var store = Open(await server.CreateDatabaseAsync(Ending));
        await store.PrepareAsync(Ending);
        var facts = Facts("n1");
        await store.AcquireAsync(facts, TimeSpan.FromSeconds(10), true, 0, Ending);
        await store.AcquireAsync(Facts("n2"), TimeSpan.FromSeconds(10), true, 0, Ending);
        var listening = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var told = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(Ending);
        var hearing = store.ListenAsync(listening.SetResult, static _ => { }, node => told.TrySetResult(node), static _ => { }, stop.Token);
        await listening.Task.WaitAsync(TimeSpan.FromSeconds(60), Ending);
        Assert.False(await store.SetDrainedAsync("n3", true, Ending));
        Assert.True(await store.SetDrainedAsync("n1", true, Ending));
        Assert.Equal("n1", await told.Task.WaitAsync(TimeSpan.FromSeconds(60), Ending));
        await AssertDrainedAsync(true);

        // The same process with its next lease is still drained.
        await store.AcquireAsync(facts, TimeSpan.FromSeconds(10), false, 0, Ending);
        await AssertDrainedAsync(true);
        await store.SetDrainedAsync("n1", false, Ending);
        await AssertDrainedAsync(false);
        await store.SetDrainedAsync("n1", true, Ending);
        await store.AcquireAsync(Facts("n1"), TimeSpan.FromSeconds(10), true, 0, Ending);
        await AssertDrainedAsync(false);
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => hearing);

        async Task AssertDrainedAsync(bool isDrained)
        {
            var around = await store.LookAroundAsync("n1", Ending);
            Assert.Equal((isDrained, "n2"), (around.IsDrained, Assert.Single(around.Others).NodeId));
            Assert.False((await store.LookAroundAsync("n2", Ending)).IsDrained);
            Assert.Equal([isDrained, false], (await store.ListNodesAsync(Ending)).Select(static node => node.IsDrained));
        }
    }

    [Fact]
    public async Task Tables_of_the_first_version_get_what_was_added()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await PostgresServer.ExecuteAsync(
            database,
            "create table tunnel2_schema (version integer not null, least_node integer not null, changed_at timestamptz not null); "
                + "insert into tunnel2_schema values (1, 1, now()); " + await PostgresSchema.ReadAsync(1, Ending),
            Ending);
        await using var store = Open(database);
        await store.PrepareAsync(Ending);
        await store.AcquireAsync(Facts("n1"), TimeSpan.FromSeconds(10), true, 0, Ending);
        Assert.True(await store.SetDrainedAsync("n1", true, Ending));
    }

    [Fact]
    public async Task The_first_host_that_takes_writes_is_used()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        var several = database.Replace("Host=", "Host=/nowhere,", StringComparison.Ordinal) + ";Target Session Attributes=primary";
        await using var store = Open(several);
        await store.PrepareAsync(Ending);
        Assert.NotNull(await store.AcquireAsync(Facts("n1"), _times[1], true, 0, Ending));
    }

    [Fact]
    public void A_text_that_is_no_connection_string_is_refused_without_a_word_of_it()
    {
        var refused = Assert.Throws<IOException>(() => Open("Host=db;Password=secret;Prot=1"));
        Assert.DoesNotContain("secret", refused.Message, StringComparison.Ordinal);
    }

    /// <summary>A machine with much to do may need longer than a node waits.</summary>
    private static PostgresStore Open(string database) => new(database, NullLogger<PostgresStore>.Instance, TimeSpan.FromSeconds(30));

    private static NodeFacts Facts(string name) => new(name, Guid.NewGuid(), $"{name}:1", "1");

    private static async Task CompareAsync(Random random, string database)
    {
        await using var store = Open(database);
        await store.PrepareAsync(Ending);
        var tables = new MemoryTables(new ManualTimeProvider());
        var facts = new[] { Facts("n1"), Facts("n2") };
        var held = new (NodeLease Real, NodeLease Reference)[2];
        for (var i = 0; i < 2; i++)
        {
            held[i] = ((await store.AcquireAsync(facts[i], _times[1], true, 0, Ending))!, tables.Acquire(facts[i], _times[1], true, 0)!);
        }

        var epochs = new Dictionary<long, long>();
        for (var i = 0; i < Steps; i++)
        {
            var node = random.Next(2);
            var (real, reference) = held[node];
            var name = random.Next(2) == 0 ? "a" : "b";
            switch (random.Next(12))
            {
                case 0:
                    var lease = _times[random.Next(2)];
                    held[node] = (
                        (await store.AcquireAsync(facts[node], lease, true, 0, Ending))!,
                        tables.Acquire(facts[node], lease, true, 0)!);
                    break;
                case 1:
                    var renewed = _times[random.Next(8) == 0 ? 0 : 1];
                    Assert.Equal(
                        tables.Renew(facts[node], reference, renewed, 0),
                        await store.RenewAsync(facts[node], real, renewed, 0, Ending));
                    break;
                case <= 6:
                    var isPublished = random.Next(3) == 0;
                    var claim = new NameClaim(
                        name, [(byte)random.Next(3)], [(byte)random.Next(2)], [7], Base: PickEpoch(random, epochs, tables),
                        Share: random.Next(3) == 0
                            ? null
                            : new NameShare(
                                [(byte)random.Next(2)], [(byte)random.Next(3)], random.Next(3) > 0, IsHealthy: random.Next(4) > 0));
                    var expected = tables.Put(reference, claim, isPublished);
                    claim = claim with { Base = epochs.GetValueOrDefault(claim.Base) };
                    var got = isPublished
                        ? (await store.PublishAsync(real, [claim], Ending))[0]
                        : await store.ClaimAsync(real, claim, Ending);
                    Assert.Equal(expected.Status, got.Status);
                    if (got.Status == ClaimStatus.Claimed)
                    {
                        Assert.True(epochs.Count == 0 || got.Epoch > epochs.Values.Max());
                        epochs[expected.Epoch] = got.Epoch;
                    }
                    else if (got.Status != ClaimStatus.LeaseLost)
                    {
                        Assert.Equal((expected.Node, epochs[expected.Epoch]), (got.Node, got.Epoch));
                        Assert.Equal(expected.FreeIn > TimeSpan.Zero, got.FreeIn > TimeSpan.Zero);
                        Assert.Equal(expected.LeaseRest > TimeSpan.Zero, got.LeaseRest > TimeSpan.Zero);
                    }

                    break;
                case <= 9:
                    var epoch = PickEpoch(random, epochs, tables);
                    var change = new NameChange(
                        name, epoch, (StoredState)random.Next(3), _times[random.Next(2)],
                        IsHealthy: random.Next(3) == 0 ? null : random.Next(2) == 0);
                    tables.Change(reference, change);
                    await store.ChangeAsync(real, [change with { Epoch = epochs.GetValueOrDefault(epoch) }], Ending);
                    break;
                case 10:
                    Assert.Equal(
                        tables.List(reference).Select(row => (row.Name, epochs[row.Epoch], row.IsShared)).Order(),
                        (await store.ListAsync(real, Ending)).Order());
                    var sum = await store.SumAsync(real, Ending);
                    Assert.Equal(
                        (tables.List(reference).Count, tables.List(reference).Sum(row => epochs[row.Epoch] % NameSum.Modulus)),
                        ((int)sum.Count, sum.Epochs));
                    break;
                default:
                    Assert.Equal(
                        TextOf(tables.Locate(name), epoch => epochs[epoch]), TextOf(await store.LocateAsync(name, Ending), epoch => epoch));
                    break;
            }
        }

        Assert.Equal(
            tables.ListNodes().Select(static node => (node.Node, node.LinkAddress, node.Names, node.LeaseLeft > TimeSpan.Zero)),
            (await store.ListNodesAsync(Ending)).Select(
                static node => (node.Node, node.LinkAddress, node.Names, node.LeaseLeft > TimeSpan.Zero)));
    }

    private static string TextOf(LocatedName located, Func<long, long> epochOf) => located.Places is not { } places
        ? located.AwaitedFor is { } rest ? rest > TimeSpan.FromMinutes(1) ? "kept" : "known" : "nowhere"
        : $"{places.Group}: " + string.Join(
            ' ', places.All.Select(place => (place with { Node = place.Node with { Epoch = epochOf(place.Node.Epoch) } }).ToString())
                .Order(StringComparer.Ordinal));

    /// <summary>An epoch of the reference that was given, most often the present one of a name, or none.</summary>
    private static long PickEpoch(Random random, Dictionary<long, long> epochs, MemoryTables tables) => random.Next(4) switch
    {
        0 => 0,
        1 when epochs.Count > 0 => epochs.Keys.ElementAt(random.Next(epochs.Count)),
        _ => tables.Names.Count > 0 ? tables.Names.ElementAt(random.Next(tables.Names.Count)).Value.Epoch : 0,
    };
}
