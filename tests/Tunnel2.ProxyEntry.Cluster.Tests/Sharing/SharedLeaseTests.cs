using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.ProxyEntry.Cluster.Sharing;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Sharing;

/// <summary>Values that end by themselves, by the database's clock.</summary>
[Collection<PostgresCollection>]
public sealed class SharedLeaseTests(PostgresServer server) : IAsyncDisposable
{
    private static readonly TimeSpan _long = TimeSpan.FromHours(1);
    private static readonly byte[] _one = [1];
    private static readonly byte[] _other = [2];

    private readonly List<PostgresStore> _stores = [];
    private string _database = "";

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task One_of_many_that_ask_at_once_has_a_lease_until_it_gives_it_back()
    {
        var nodes = new[] { await JoinAsync(), await JoinAsync(), await JoinAsync() };
        var taken = await Task.WhenAll(Enumerable.Range(0, 30).Select(
            i => nodes[i % 3].TakeAsync("kind", "name", [(byte)(i % 3)], _long, Ending)));
        var winner = Assert.Single(Enumerable.Range(0, 30).Where(i => taken[i]).Select(static i => i % 3).Distinct());
        Assert.True(await nodes[winner].TakeAsync("kind", "name", [(byte)winner], _long, Ending));
        var loser = (winner + 1) % 3;
        await nodes[loser].ReleaseAsync("kind", "name", [(byte)loser], Ending);
        Assert.False(await nodes[loser].TakeAsync("kind", "name", [(byte)loser], _long, Ending));
        Assert.True(await nodes[loser].TakeAsync("kind", "next", [(byte)loser], _long, Ending));
        await nodes[winner].ReleaseAsync("kind", "name", [(byte)winner], Ending);
        Assert.True(await nodes[loser].TakeAsync("kind", "name", [(byte)loser], _long, Ending));
    }

    [Fact]
    public async Task A_lease_that_is_over_is_free_and_what_ended_long_ago_is_swept()
    {
        var node = await JoinAsync();
        Assert.True(await node.TakeAsync("kind", "name", _one, _long, Ending));
        await PostgresServer.ExecuteAsync(
            _database, "update tunnel2_shared set touched_at = clock_timestamp() - interval '1 second'", Ending);
        Assert.Null(await node.FindAsync("kind", "name", Ending));
        Assert.True(await node.TakeAsync("kind", "name", _other, _long, Ending));
        Assert.False(await node.TakeAsync("kind", "name", _one, _long, Ending));
        await PostgresServer.ExecuteAsync(
            _database, "update tunnel2_shared set touched_at = clock_timestamp() - interval '1 hour'", Ending);
        Assert.True(await node.TakeAsync("kind", "next", _one, _long, Ending));
        Assert.Equal(1L, await PostgresServer.AskAsync(_database, "select count(*) from tunnel2_shared", Ending));
    }

    [Fact]
    public async Task What_is_placed_takes_the_place_of_what_was_there_and_is_found_at_every_node()
    {
        var (first, second) = (await JoinAsync(), await JoinAsync());
        await first.PlaceAsync("kind", "name", _one, _long, Ending);
        Assert.Equal(_one, await second.FindAsync("kind", "name", Ending));
        await second.PlaceAsync("kind", "name", _other, _long, Ending);
        await first.ReleaseAsync("kind", "name", _one, Ending);
        Assert.Equal(_other, await first.FindAsync("kind", "name", Ending));
        await first.ReleaseAsync("kind", "name", _other, Ending);
        Assert.Null(await second.FindAsync("kind", "name", Ending));
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var store in _stores)
        {
            await store.DisposeAsync();
        }
    }

    private async Task<SharedDocuments> JoinAsync()
    {
        if (_database.Length == 0)
        {
            _database = await server.CreateDatabaseAsync(Ending);
        }

        var store = new PostgresStore(_database, NullLogger<PostgresStore>.Instance, TimeSpan.FromSeconds(30));
        _stores.Add(store);
        await store.PrepareAsync(Ending);
        return new SharedDocuments(store, TimeProvider.System, NullLogger<SharedDocuments>.Instance);
    }
}
