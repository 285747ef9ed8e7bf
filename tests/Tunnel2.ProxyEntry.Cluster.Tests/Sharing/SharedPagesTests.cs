using System.Globalization;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Cluster.Tests.Postgres;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Sharing;

/// <summary>More documents than one call reads: they come in pages, and are those of one moment all the same.</summary>
[Collection<PostgresCollection>]
public sealed class SharedPagesTests(PostgresServer server)
{
    private const string Kind = "things";
    private const int Most = 10_000;

    private static readonly Guid _generation = Guid.NewGuid();

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Ten_thousand_documents_are_read_in_pages_and_so_is_what_has_changed()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await using var store = await PrepareAsync(database, TimeSpan.FromSeconds(3));

        // Longer than a certificate with its key.
        await PostgresServer.ExecuteAsync(
            database,
            $"insert into tunnel2_shared (kind, key, version, value, changed_at) select '{Kind}', 'k' || i, nextval('tunnel2_epochs'), "
                + "convert_to(repeat(md5(i::text), 512), 'UTF8'), clock_timestamp() from generate_series(1, 10000) i",
            Ending);
        var set = await store.ReadSharedAsync(Kind, 0, Most, Ending);
        Assert.Equal(Keys(Most).Order(StringComparer.Ordinal), set!.Documents.Select(static one => one.Key));
        Assert.Equal(SumOf(set), set.Sum);

        // What has changed comes in pages too, and what was removed.
        await PostgresServer.ExecuteAsync(
            database, $"update tunnel2_shared set version = nextval('tunnel2_epochs') where kind = '{Kind}' and key like 'k9%'", Ending);
        Assert.Equal(SharedOutcome.Done, await store.RemoveSharedAsync(Kind, _generation, "k9", Ending));
        var changed = await store.ReadSharedAsync(Kind, set.Newest, Most, Ending);
        Assert.Equal(1110, changed!.Documents.Count);
        Assert.Equal(["k9"], changed.Gone);
        Assert.Equal(Most - 1, changed.Sum.Count);
    }

    [Fact]
    public async Task What_is_changed_while_pages_are_read_is_among_them()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await using var store = await PrepareAsync(database, TimeSpan.FromSeconds(30));
        await store.FillSharedAsync(Kind, _generation, false, [.. Keys(900).Select(static key => new SharedDocument(key, [1]))], Ending);
        using var enough = CancellationTokenSource.CreateLinkedTokenSource(Ending);
        var changing = ChangeAsync(store, enough.Token);
        for (var i = 0; i < 50; i++)
        {
            var set = (await store.ReadSharedAsync(Kind, 0, Most, Ending))!;
            Assert.Equal(SumOf(set), set.Sum);
            Assert.InRange(set.Documents.Count, 890, 901);
            Assert.Empty(set.Gone);
        }

        await enough.CancelAsync();
        Assert.True(await changing > 0);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_set_is_filled_in_pages_and_a_new_one_is_never_seen_in_part(bool isNew)
    {
        // All of them take longer than a call may, and a page a third of that.
        var database = await server.CreateDatabaseAsync(Ending);
        await using var store = new PostgresStore(database, NullLogger<PostgresStore>.Instance, TimeSpan.FromSeconds(3));
        await store.PrepareAsync(Ending);
        await PostgresServer.ExecuteAsync(
            database,
            "create function slowly() returns trigger language plpgsql as 'begin perform pg_sleep(0.005); return new; end';"
                + "create trigger slow before insert on tunnel2_shared for each row when (new.key <> '') execute function slowly()",
            Ending);
        if (!isNew)
        {
            await store.FillSharedAsync(Kind, _generation, true, [], Ending);
        }

        SharedDocument[] documents = [.. Keys(1_000).Select(static key => new SharedDocument(key, [1]))];
        var filling = store.FillSharedAsync(Kind, _generation, isNew, documents, Ending);
        var seen = new List<int>();
        while (!filling.IsCompleted)
        {
            seen.Add((await store.ReadSharedAsync(Kind, 0, Most, Ending))?.Documents.Count ?? -1);
        }

        await filling;
        var set = (await store.ReadSharedAsync(Kind, 0, Most, Ending))!;
        Assert.Equal((_generation, documents.Length, SumOf(set)), (set.Generation, set.Documents.Count, set.Sum));
        Assert.All(seen, count => Assert.True(!isNew || count is -1 or 1_000, $"{count} documents were seen"));
    }

    [Fact]
    public async Task A_fill_that_fails_in_a_later_page_leaves_nothing_to_follow()
    {
        var database = await server.CreateDatabaseAsync(Ending);
        await using var store = new PostgresStore(database, NullLogger<PostgresStore>.Instance, TimeSpan.FromSeconds(30));
        await store.PrepareAsync(Ending);
        SharedDocument[] documents = [.. Keys(900).Select(static key => new SharedDocument(key, [1]))];
        await Assert.ThrowsAsync<StoreUnavailableException>(() => store.FillSharedAsync(
            Kind, _generation, true, [.. documents, new SharedDocument("long", new byte[65_537])], Ending));
        Assert.Null(await store.ReadSharedAsync(Kind, 0, Most, Ending));
        await store.FillSharedAsync(Kind, Guid.NewGuid(), true, documents, Ending);
        Assert.Equal(900, (await store.ReadSharedAsync(Kind, 0, Most, Ending))!.Documents.Count);
    }

    private static async Task<PostgresStore> PrepareAsync(string database, TimeSpan deadline)
    {
        var store = new PostgresStore(database, NullLogger<PostgresStore>.Instance, deadline);
        await store.PrepareAsync(Ending);
        await store.FillSharedAsync(Kind, _generation, true, [], Ending);
        return store;
    }

    /// <summary>Replaces, removes and adds documents near the begin and the end, until it is cancelled.</summary>
    private static async Task<int> ChangeAsync(PostgresStore store, CancellationToken enough)
    {
        var count = 0;
        try
        {
            for (; ; count++)
            {
                var key = string.Create(CultureInfo.InvariantCulture, $"k{(count * 7) % 900}");
                await (count % 3 == 0
                    ? store.RemoveSharedAsync(Kind, _generation, key, enough)
                    : store.PutSharedAsync(Kind, _generation, new SharedDocument(key, [2]), Most, enough));
                await (count % 3 == 0
                    ? store.PutSharedAsync(Kind, _generation, new SharedDocument(key, [3]), Most, enough)
                    : Task.FromResult(SharedOutcome.Done));
            }
        }
        catch (OperationCanceledException)
        {
            return count;
        }
    }

    private static IEnumerable<string> Keys(int count) =>
        Enumerable.Range(1, count).Select(static i => string.Create(CultureInfo.InvariantCulture, $"k{i}"));

    private static SharedSum SumOf(SharedSet set) =>
        set.Documents.Aggregate(default(SharedSum), static (sum, document) => sum.With(document.Mark));
}
