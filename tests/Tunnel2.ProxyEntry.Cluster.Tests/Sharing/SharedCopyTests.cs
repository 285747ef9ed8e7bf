using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.ProxyEntry.Cluster.Sharing;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Sharing;

/// <summary>Whose documents count when a node joins, comes back late, or finds the database emptied.</summary>
[Collection<PostgresCollection>]
public sealed class SharedCopyTests(PostgresServer server) : IAsyncDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-shared-");
    private readonly List<PostgresStore> _stores = [];
    private string _database = "";

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Each_node_that_joins_adds_its_own_once_and_the_clusters_wins()
    {
        await PrepareAsync();
        var first = await JoinAsync("n1", "a", "both");
        Assert.Equal(["a", "both"], first.Keys);
        var second = await JoinAsync("n2", "b", "both");
        Assert.Equal(["a", "b", "both"], second.Keys);
        Assert.Equal("n1", second["both"]);
        await first.LookAsync();
        Assert.Equal(["a", "b", "both"], first.Keys);
    }

    [Fact]
    public async Task What_was_removed_while_a_node_was_away_does_not_come_back_with_it()
    {
        await PrepareAsync();
        var first = await JoinAsync("n1", "a", "b");
        var second = await JoinAsync("n2");
        Assert.Equal(SharedOutcome.Done, (await first.Copy.RemoveAsync("a", Ending)).Outcome);

        // Its state folder has both still.
        var back = await JoinAsync("n2", "a", "b");
        Assert.Equal(["b"], back.Keys);

        // Also where the database was emptied and filled again in between.
        await EmptyAsync();
        await first.LookAsync();
        back = await JoinAsync("n2", "a", "b");
        Assert.Equal(["b"], back.Keys);
        await first.LookAsync();
        Assert.Equal(["b"], first.Keys);
        await second.LookAsync();
        Assert.Equal(["b"], second.Keys);
    }

    [Fact]
    public async Task A_change_of_an_emptied_database_is_refused_and_the_next_look_fills_it()
    {
        await PrepareAsync();
        var node = await JoinAsync("n1", "a");
        await EmptyAsync();
        var refused = await Assert.ThrowsAsync<SharedUnavailableException>(() => node.Copy.RemoveAsync("a", Ending));
        Assert.False(refused.MayHaveChanged);
        await Assert.ThrowsAsync<SharedUnavailableException>(async () =>
        {
            await node.LookAsync();
            await EmptyAsync();
            await node.Copy.AddAsync(new SharedDocument("b", [1]), Ending);
        });
        await node.LookAsync();
        Assert.Equal(["a"], node.Keys);
        Assert.Null(node.Copy.Trouble);
    }

    [Fact]
    public async Task Nodes_that_fill_an_emptied_database_at_once_have_one_set()
    {
        await PrepareAsync();
        var nodes = new List<Node>();
        for (var i = 0; i < 4; i++)
        {
            nodes.Add(await JoinAsync($"n{i}", $"k{i}"));
        }

        await Task.WhenAll(nodes.Select(static node => node.LookAsync()));
        for (var round = 0; round < 5; round++)
        {
            await EmptyAsync();
            await Task.WhenAll(nodes.Select(static node => node.LookAsync()));
            Assert.All(nodes, static node => Assert.Equal(["k0", "k1", "k2", "k3"], node.Keys));
        }
    }

    [Fact]
    public async Task There_are_never_more_than_may_be_and_the_later_use_counts()
    {
        await PrepareAsync();
        var nodes = new[] { await JoinAsync("n1"), await JoinAsync("n2") };
        var outcomes = await Task.WhenAll(Enumerable.Range(0, Node.Most + 4).Select(
            i => nodes[i % 2].Copy.AddAsync(new SharedDocument($"k{i}", [1]), Ending)));
        Assert.Equal(Node.Most, outcomes.Count(static one => one == SharedOutcome.Done));
        Assert.Equal(4, outcomes.Count(static one => one == SharedOutcome.TooMany));

        var key = nodes[0].Keys[0];
        var late = new DateTimeOffset(2030, 1, 2, 0, 0, 0, TimeSpan.Zero);
        await nodes[0].Copy.TouchAsync([KeyValuePair.Create(key, late)], Ending);
        await nodes[1].Copy.TouchAsync([KeyValuePair.Create(key, late.AddDays(-1)), KeyValuePair.Create("none", late)], Ending);
        await nodes[1].LookAsync();
        Assert.Equal(late, nodes[1].Documents.Single(document => document.Key == key).Touched);
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var store in _stores)
        {
            await store.DisposeAsync();
        }

        _folder.Delete(recursive: true);
    }

    private async Task PrepareAsync() => _database = await server.CreateDatabaseAsync(Ending);

    private Task EmptyAsync() => PostgresServer.ExecuteAsync(_database, "truncate tunnel2_shared", Ending);

    /// <summary>Starts a node whose state folder has these documents.</summary>
    private async Task<Node> JoinAsync(string name, params string[] own)
    {
        var store = new PostgresStore(_database, NullLogger<PostgresStore>.Instance, TimeSpan.FromSeconds(30));
        _stores.Add(store);
        await store.PrepareAsync(Ending);
        var node = new Node(name, store, Path.Combine(_folder.FullName, name), own);
        await node.LookAsync();
        return node;
    }

    private sealed class Node : ISharedContent
    {
        public const int Most = 6;

        private readonly SharedDocuments _shared;

        public Node(string name, PostgresStore store, string folder, string[] own)
        {
            Documents = [.. own.Select(key => new SharedDocument(key, System.Text.Encoding.ASCII.GetBytes(name)))];
            _shared = new SharedDocuments(store, TimeProvider.System, NullLogger<SharedDocuments>.Instance);
            Copy = new SharedCopy(_shared, "things", Most, folder, this, NullLogger.Instance);
        }

        public SharedCopy Copy { get; }

        public IReadOnlyList<SharedDocument> Documents { get; private set; }

        public string[] Keys => [.. Documents.Select(static document => document.Key).Order(StringComparer.Ordinal)];

        public string this[string key] => System.Text.Encoding.ASCII.GetString(Documents.Single(one => one.Key == key).Value);

        public Task LookAsync() => _shared.LookAsync(Ending);

        public IReadOnlyList<SharedDocument> Own() => Documents;

        public int Apply(IReadOnlyList<SharedDocument> documents)
        {
            Documents = documents;
            return 0;
        }
    }
}
