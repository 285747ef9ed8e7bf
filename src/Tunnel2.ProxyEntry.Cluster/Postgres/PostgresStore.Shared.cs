using Npgsql;
using NpgsqlTypes;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <content>What nodes share beside names.</content>
internal sealed partial class PostgresStore : ISharedStore
{
    /// <summary>Documents in a page: with the longest values it still takes a part of a call's second only.</summary>
    private const int DocumentsInPage = 200;

    /// <summary>Bytes of values in a page that is written.</summary>
    private const int BytesInPage = 1024 * 1024;

    /// <summary>How often what was changed while pages were read is read too. After that the sum shows that something is missing.</summary>
    private const int MostRounds = 4;

    /// <inheritdoc/>
    /// <remarks>
    /// Each page is a call of its own. What changes in that time is read after the last page, until one page has all of it: then the sum is
    /// of the same moment, as it is where one page has everything.
    /// </remarks>
    public async Task<SharedSet?> ReadSharedAsync(string kind, long since, int most, CancellationToken cancellationToken)
    {
        var documents = new SortedDictionary<string, SharedDocument>(StringComparer.Ordinal);
        var gone = new HashSet<string>(StringComparer.Ordinal);
        SharedPage? first = null;
        var newest = since;
        for (var (round, from, isWhole) = (0, since, false); round < MostRounds && !isWhole; round++, from = first.Latest)
        {
            var page = await PageAsync(from, "").ConfigureAwait(false);
            if (page is null || (first is not null && page.Generation != first.Generation))
            {
                return first is null ? null : throw new StoreUnavailableException("it was emptied while it was read");
            }

            (first, isWhole) = (page, !page.HasMore);
            foreach (var key in page.Gone)
            {
                documents.Remove(key);
                gone.Add(key);
            }

            Add(page);
            while (page.HasMore && documents.Count < most)
            {
                page = await PageAsync(from, page.Documents[^1].Key).ConfigureAwait(false);
                if (page?.Generation != first.Generation)
                {
                    throw new StoreUnavailableException("it was emptied while it was read");
                }

                Add(page);
            }
        }

        return new SharedSet(first!.Generation, [.. documents.Values.Take(most)], since > 0 ? [.. gone] : [], first.Sum, newest);

        Task<SharedPage?> PageAsync(long from, string after) => ReadPageAsync(
            kind, from, after, Math.Min(DocumentsInPage, most), most, cancellationToken);

        void Add(SharedPage page)
        {
            foreach (var document in page.Documents)
            {
                documents[document.Key] = document;
            }

            newest = Math.Max(newest, page.Newest);
        }
    }

    /// <inheritdoc/>
    /// <remarks>
    /// A new kind is filled in one transaction: a node that read a part of it would take the rest for removed. To one that is there each
    /// page is added for itself, so that changes of other nodes do not wait for all of them.
    /// </remarks>
    public async Task FillSharedAsync(
        string kind, Guid generation, bool isNew, IReadOnlyList<SharedDocument> documents, CancellationToken cancellationToken)
    {
        var pages = PagesOf(documents);
        foreach (var part in isNew ? [pages] : pages.Select(static page => (List<SharedDocument[]>)[page]))
        {
            await ChangeSharedAsync(
                kind, generation,
                async (connection, token) =>
                {
                    foreach (var page in part)
                    {
                        using var limit = _connections.Limit(token);
                        await FillPageAsync(connection, kind, page, limit.Token).ConfigureAwait(false);
                    }

                    return SharedOutcome.Done;
                },
                cancellationToken, isNew ? PostgresSharedSql.Begin : PostgresSharedSql.Lock, part.Count).ConfigureAwait(false);
        }
    }

    /// <inheritdoc/>
    public Task<SharedOutcome> AddSharedAsync(
        string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken) =>
        ChangeSharedAsync(
            kind, generation,
            async (connection, token) =>
            {
                var row = (await ReadAsync(
                    connection, PostgresSharedSql.Add,
                    static reader => (Before: reader.GetInt64(0), IsDone: !reader.IsDBNull(1), IsTaken: !reader.IsDBNull(2)), token,
                    new() { Value = kind }, new() { Value = Volatile.Read(ref _channel) }, new() { Value = document.Key },
                    new() { Value = document.Value }, new() { Value = (long)most }).ConfigureAwait(false))[0];
                return row.IsDone ? SharedOutcome.Done : row.IsTaken ? SharedOutcome.Taken : SharedOutcome.TooMany;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<SharedOutcome> PutSharedAsync(
        string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken) =>
        ChangeSharedAsync(
            kind, generation,
            async (connection, token) =>
            {
                var (mayBe, isDone) = (await ReadAsync(
                    connection, PostgresSharedSql.Put, static reader => (reader.GetBoolean(0), !reader.IsDBNull(1)), token,
                    new() { Value = kind }, new() { Value = Volatile.Read(ref _channel) }, new() { Value = document.Key },
                    new() { Value = document.Value }, new() { Value = (long)most },
                    new()
                    {
                        Value = document.Touched is { } moment ? moment.UtcDateTime : DBNull.Value,
                        NpgsqlDbType = NpgsqlDbType.TimestampTz,
                    },
                    new() { Value = document.Version }).ConfigureAwait(false))[0];
                return isDone ? SharedOutcome.Done : mayBe ? SharedOutcome.Taken : SharedOutcome.TooMany;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<SharedOutcome> RemoveSharedAsync(string kind, Guid generation, string key, CancellationToken cancellationToken) =>
        ChangeSharedAsync(
            kind, generation,
            async (connection, token) => (await ReadAsync(
                connection, PostgresSharedSql.Remove, static reader => reader.GetString(1), token, new() { Value = kind },
                new() { Value = Volatile.Read(ref _channel) }, new() { Value = key }).ConfigureAwait(false)).Count > 0
                ? SharedOutcome.Done
                : SharedOutcome.Missing,
            cancellationToken);

    /// <inheritdoc/>
    public Task TouchSharedAsync(
        string kind, IReadOnlyList<KeyValuePair<string, DateTimeOffset>> uses, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            (connection, token) => ScalarAsync(
                connection, PostgresSharedSql.Touch, token,
                new() { Value = kind },
                new() { Value = uses.Select(static use => use.Key).ToArray() },
                new()
                {
                    Value = uses.Select(static use => use.Value.UtcDateTime).ToArray(),
                    NpgsqlDbType = NpgsqlDbType.Array | NpgsqlDbType.TimestampTz,
                }),
            cancellationToken);

    private Task<SharedPage?> ReadPageAsync(
        string kind, long since, string after, int documents, int notes, CancellationToken cancellationToken) => _connections.CallAsync(
            async (connection, token) =>
            {
                var rows = await ReadAsync(
                    connection, PostgresSharedSql.Read,
                    static reader => (
                        Part: reader.GetInt32(5),
                        Latest: reader.GetInt64(7),
                        Document: new SharedDocument(
                            reader.GetString(0), reader.IsDBNull(2) ? [] : reader.GetFieldValue<byte[]>(2), reader.GetInt64(1),
                            reader.IsDBNull(3) ? null : new DateTimeOffset(reader.GetDateTime(3), TimeSpan.Zero),
                            reader.IsDBNull(6) ? default : reader.GetFieldValue<TimeSpan>(6),
                            reader.IsDBNull(4) ? 0 : reader.GetInt64(4))),
                    token, new() { Value = kind }, new() { Value = (long)documents }, new() { Value = since }, new() { Value = after },
                    new() { Value = (long)notes }).ConfigureAwait(false);
                var sum = rows[0].Document;
                var read = rows.Where(static row => row.Part == 2).Select(static row => row.Document).ToList();
                return rows.Find(static row => row.Part == 1).Document is { Value.Length: 16 } marker
                    ? new SharedPage(
                        new Guid(marker.Value), read, [.. rows.Where(static row => row.Part == 3).Select(static row => row.Document.Key)],
                        new SharedSum((int)sum.Version, sum.Mark), rows.Skip(1).Max(static row => row.Document.Version), rows[0].Latest,
                        read.Count == documents)
                    : null;
            },
            cancellationToken);

    /// <summary>In the order in which they are written: short enough for a call's second, also with the longest values.</summary>
    private static List<SharedDocument[]> PagesOf(IReadOnlyList<SharedDocument> documents)
    {
        var pages = new List<SharedDocument[]>();
        for (var i = 0; i < documents.Count;)
        {
            var (first, bytes) = (i, 0);
            do
            {
                bytes += documents[i++].Value.Length;
            }
            while (i < documents.Count && i - first < DocumentsInPage && bytes + documents[i].Value.Length <= BytesInPage);

            pages.Add([.. documents.Skip(first).Take(i - first)]);
        }

        return pages;
    }

    private Task<object?> FillPageAsync(
        NpgsqlConnection connection, string kind, SharedDocument[] page, CancellationToken token) => ScalarAsync(
        connection, PostgresSharedSql.Fill, token,
        new() { Value = kind },
        new() { Value = Volatile.Read(ref _channel) },
        new() { Value = page.Select(static document => document.Key).ToArray() },
        new() { Value = page.Select(static document => document.Value).ToArray() },
        new()
        {
            Value = page.Select(static document => document.Touched?.UtcDateTime).ToArray(),
            NpgsqlDbType = NpgsqlDbType.Array | NpgsqlDbType.TimestampTz,
        });

    private Task<SharedOutcome> ChangeSharedAsync(
        string kind, Guid generation, Func<NpgsqlConnection, CancellationToken, Task<SharedOutcome>> change,
        CancellationToken cancellationToken, string begin = PostgresSharedSql.Lock, int parts = 1) =>
        _connections.CallAsync(
            async (connection, token) =>
            {
                var transaction = await connection.BeginTransactionAsync(token).ConfigureAwait(false);
                await using (transaction.ConfigureAwait(false))
                {
                    if (await ScalarAsync(
                        connection, begin, token, new() { Value = kind }, new() { Value = generation.ToByteArray() })
                        .ConfigureAwait(false) is not true)
                    {
                        return SharedOutcome.Emptied;
                    }

                    var outcome = await change(connection, token).ConfigureAwait(false);
                    await transaction.CommitAsync(token).ConfigureAwait(false);
                    return outcome;
                }
            },
            cancellationToken, _connections.DeadlineOf(parts));

    /// <summary>Documents of a kind that follow each other by their keys.</summary>
    /// <param name="Generation">That of the kind.</param>
    /// <param name="Documents">In the order of their keys.</param>
    /// <param name="Gone">With the first page: what was removed.</param>
    /// <param name="Sum">With the first page: of all documents of the kind.</param>
    /// <param name="Newest">The highest version that was read.</param>
    /// <param name="Latest">With the first page: the highest version of all documents.</param>
    /// <param name="HasMore">Whether there may be further ones.</param>
    private sealed record SharedPage(
        Guid Generation, IReadOnlyList<SharedDocument> Documents, IReadOnlyList<string> Gone, SharedSum Sum, long Newest, long Latest,
        bool HasMore);
}
