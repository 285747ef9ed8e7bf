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

    [Fact]
    public async Task A_document_is_put_in_place_of_another_one_and_with_a_version_of_that_one_alone()
    {
        await PrepareAsync();
        var nodes = new[] { await JoinAsync("n1"), await JoinAsync("n2") };
        Assert.Equal(SharedOutcome.Done, (await nodes[0].Copy.PutAsync(new SharedDocument("a", [1]), Ending)).Outcome);
        Assert.Equal(SharedOutcome.Done, (await nodes[1].Copy.PutAsync(new SharedDocument("a", [2]), Ending)).Outcome);
        await nodes[0].LookAsync();
        Assert.Equal([2], nodes[0].Documents.Single().Value);

        // Each counts one up, many times at once: none is lost.
        var counted = await Task.WhenAll(Enumerable.Range(0, 8).Select(i => CountAsync(nodes[i % 2])));
        Assert.Equal(new byte[] { 3, 4, 5, 6, 7, 8, 9, 10 }, counted.Order());
        Assert.Equal(
            SharedOutcome.Taken, (await nodes[0].Copy.PutAsync(new SharedDocument("none", [1], Version: 7), Ending)).Outcome);
        for (var i = 1; i < Node.Most; i++)
        {
            Assert.Equal(SharedOutcome.Done, (await nodes[0].Copy.PutAsync(new SharedDocument($"k{i}", [1]), Ending)).Outcome);
        }

        Assert.Equal(SharedOutcome.TooMany, (await nodes[0].Copy.PutAsync(new SharedDocument("more", [1]), Ending)).Outcome);
        Assert.Equal(SharedOutcome.Done, (await nodes[0].Copy.PutAsync(new SharedDocument("a", [1]), Ending)).Outcome);

        static async Task<byte> CountAsync(Node node)
        {
            while (true)
            {
                var known = node.Documents.Single();
                var next = (byte)(known.Value[0] + 1);
                if ((await node.Copy.PutAsync(known with { Value = [next] }, Ending)).Outcome == SharedOutcome.Done)
                {
                    return next;
                }
            }
        }
    }

    [Fact]
    public async Task A_look_reads_what_was_put_and_removed_since_the_last_one_and_nothing_else()
    {
        await PrepareAsync();
        var first = await JoinAsync("n1", "a", "b", "c");
        var second = await JoinAsync("n2");
        await second.LookAsync();
        second.Reads.Clear();
        await first.Copy.PutAsync(new SharedDocument("b", [1]), Ending);
        await first.Copy.RemoveAsync("c", Ending);
        await first.Copy.AddAsync(new SharedDocument("d", [2]), Ending);

        // However many notices were lost.
        await second.LookAsync();
        Assert.Equal(["a", "b", "d"], second.Keys);
        Assert.Equal(["b", "d"], second.Changes[^1].Put.Select(static one => one.Key));
        Assert.Equal(["c"], second.Changes[^1].Gone);
        await second.LookAsync();
        Assert.True(second.Changes[^1].IsEmpty);
        Assert.Equal([2, 0], second.Reads.Documents);

        // What is removed and made again is there.
        await first.Copy.RemoveAsync("a", Ending);
        await first.Copy.AddAsync(new SharedDocument("a", [3]), Ending);
        await first.Copy.RemoveAsync("d", Ending);
        await second.LookAsync();
        Assert.Equal(["a"], second.Changes[^1].Put.Select(static one => one.Key));
        Assert.Equal(["d"], second.Changes[^1].Gone);
        Assert.Equal(["a", "b"], second.Keys);
        Assert.Equal([2, 0, 1], second.Reads.Documents);
        Assert.All(second.Reads.Since, static since => Assert.True(since > 0));
    }

    [Fact]
    public async Task A_use_is_read_by_the_others_once()
    {
        await PrepareAsync();
        var first = await JoinAsync("n1", "a", "b");
        var second = await JoinAsync("n2");
        await second.LookAsync();
        second.Reads.Clear();
        await first.Copy.TouchAsync([KeyValuePair.Create("b", DateTimeOffset.UnixEpoch.AddYears(90))], Ending);
        await second.LookAsync();
        await second.LookAsync();
        Assert.Equal([1, 0], second.Reads.Documents);
        Assert.Equal(DateTimeOffset.UnixEpoch.AddYears(90), second.Documents.Single(static one => one.Key == "b").Touched);
    }

    [Theory]
    [InlineData("update tunnel2_shared set version = 1, value = '\x07', changed_at = now() where key = 'b'")]
    [InlineData("insert into tunnel2_shared values ('things', 'late', 1, '\x07', now())")]
    [InlineData("delete from tunnel2_shared where key = 'b'")]
    [InlineData("delete from tunnel2_shared where key = 'b'; insert into tunnel2_shared values ('things', 'bb', 1, '\x07', now())")]
    public async Task What_another_hand_has_changed_is_noticed_by_the_sum_and_all_is_read(string statement)
    {
        await PrepareAsync();
        var node = await JoinAsync("n1", "a", "b", "c");
        await node.LookAsync();
        node.Reads.Clear();
        await PostgresServer.ExecuteAsync(_database, statement, Ending);
        await node.LookAsync();
        await SameAsync(node);
        Assert.Equal(0, node.Reads.Since[^1]);

        // Only what is different is followed, and the next look is a short one.
        Assert.InRange(node.Changes[^1].Put.Count, 0, 1);
        await node.LookAsync();
        Assert.True(node.Changes[^1].IsEmpty);
        Assert.Equal((3, true), (node.Reads.Since.Count, node.Reads.Since[^1] > 0));
    }

    [Fact]
    public async Task A_copy_of_yesterday_that_was_put_back_is_followed_even_where_numbers_are_given_again()
    {
        await PrepareAsync();
        var node = await JoinAsync("n1", "a", "b");
        var other = await JoinAsync("n2");
        await PostgresServer.ExecuteAsync(
            _database,
            "create table yesterday as select * from tunnel2_shared; create table epoch as select last_value from tunnel2_epochs",
            Ending);
        await node.Copy.PutAsync(new SharedDocument("b", [1]), Ending);
        await node.Copy.RemoveAsync("a", Ending);
        await node.Copy.AddAsync(new SharedDocument("c", [1]), Ending);
        await other.LookAsync();
        await PostgresServer.ExecuteAsync(
            _database,
            "truncate tunnel2_shared; insert into tunnel2_shared select * from yesterday; "
                + "select setval('tunnel2_epochs', (select last_value from epoch))",
            Ending);

        // The same document gets the same number as before, with other content.
        await node.Copy.PutAsync(new SharedDocument("b", [9]), Ending);
        foreach (var one in new[] { node, other })
        {
            await one.LookAsync();
            await SameAsync(one);
            Assert.Equal(["a", "b"], one.Keys);
            Assert.Equal([9], one.Documents[1].Value);
        }
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var store in _stores)
        {
            await store.DisposeAsync();
        }

        _folder.Delete(recursive: true);
    }

    /// <summary>The node has what the database has.</summary>
    private async Task SameAsync(Node node)
    {
        await using var source = Npgsql.NpgsqlDataSource.Create(_database);
        await using var command = source.CreateCommand(
            "select key || ' ' || version || ' ' || encode(value, 'hex') from tunnel2_shared where kind = 'things' and key <> '' "
                + "order by key collate \"C\"");
        await using var reader = await command.ExecuteReaderAsync(Ending);
        var rows = new List<string>();
        while (await reader.ReadAsync(Ending))
        {
            rows.Add(reader.GetString(0));
        }

        Assert.Equal(rows, node.Documents.Select(
            static one => FormattableString.Invariant($"{one.Key} {one.Version} {Convert.ToHexStringLower(one.Value)}")));
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
            Reads = new CountedReads(_shared);
            Copy = new SharedCopy(Reads, "things", Most, folder, this, NullLogger.Instance);
        }

        public SharedCopy Copy { get; }

        public CountedReads Reads { get; }

        public IReadOnlyList<SharedDocument> Documents { get; private set; }

        public List<SharedChanges> Changes { get; } = [];

        public string[] Keys => [.. Documents.Select(static document => document.Key).Order(StringComparer.Ordinal)];

        public string this[string key] => System.Text.Encoding.ASCII.GetString(Documents.Single(one => one.Key == key).Value);

        public Task LookAsync() => _shared.LookAsync(Ending);

        public IReadOnlyList<SharedDocument> Own() => Documents;

        public int Follow(SharedChanges changes)
        {
            Changes.Add(changes);
            Documents =
            [
                .. Documents.Where(one => !changes.IsFirst && !changes.Gone.Contains(one.Key)
                    && changes.Put.All(document => document.Key != one.Key))
                    .Concat(changes.Put).OrderBy(static one => one.Key, StringComparer.Ordinal),
            ];
            return 0;
        }
    }

    /// <summary>The database, with a note of each read.</summary>
    private sealed class CountedReads(ISharedDocuments documents) : ISharedDocuments
    {
        /// <summary>After which version was read; 0: all.</summary>
        public List<long> Since { get; } = [];

        /// <summary>How many documents came.</summary>
        public List<int> Documents { get; } = [];

        public void Clear()
        {
            Since.Clear();
            Documents.Clear();
        }

        public void Watch(string kind, Func<CancellationToken, Task> look) => documents.Watch(kind, look);

        public async Task<SharedSet?> ReadAsync(string kind, long since, int most, CancellationToken cancellationToken)
        {
            var set = await documents.ReadAsync(kind, since, most, cancellationToken);
            Since.Add(since);
            Documents.Add(set?.Documents.Count ?? 0);
            return set;
        }

        public Task FillAsync(
            string kind, Guid generation, bool isNew, IReadOnlyList<SharedDocument> own, CancellationToken cancellationToken) =>
            documents.FillAsync(kind, generation, isNew, own, cancellationToken);

        public Task<SharedOutcome> AddAsync(
            string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken) =>
            documents.AddAsync(kind, generation, document, most, cancellationToken);

        public Task<SharedOutcome> PutAsync(
            string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken) =>
            documents.PutAsync(kind, generation, document, most, cancellationToken);

        public Task<SharedOutcome> RemoveAsync(string kind, Guid generation, string key, CancellationToken cancellationToken) =>
            documents.RemoveAsync(kind, generation, key, cancellationToken);

        public Task TouchAsync(
            string kind, IReadOnlyList<KeyValuePair<string, DateTimeOffset>> uses, CancellationToken cancellationToken) =>
            documents.TouchAsync(kind, uses, cancellationToken);
    }
}
