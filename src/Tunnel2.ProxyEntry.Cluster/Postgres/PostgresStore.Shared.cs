using Npgsql;
using NpgsqlTypes;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <content>What nodes share beside names.</content>
internal sealed partial class PostgresStore : ISharedStore
{
    /// <inheritdoc/>
    public Task<SharedSet?> ReadSharedAsync(string kind, int most, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) =>
            {
                var rows = await ReadAsync(
                    connection, PostgresSharedSql.Read,
                    static reader => new SharedDocument(
                        reader.GetString(0), reader.GetFieldValue<byte[]>(2), reader.GetInt64(1),
                        reader.IsDBNull(3) ? null : new DateTimeOffset(reader.GetDateTime(3), TimeSpan.Zero),
                        reader.IsDBNull(4) ? default : reader.GetFieldValue<TimeSpan>(4)),
                    token, new() { Value = kind }, new() { Value = (long)most }).ConfigureAwait(false);
                return rows.Find(static row => row.Key.Length == 0) is { Value.Length: 16 } marker
                    ? new SharedSet(new Guid(marker.Value), [.. rows.Where(static row => row.Key.Length > 0)])
                    : null;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task FillSharedAsync(
        string kind, Guid generation, bool isNew, IReadOnlyList<SharedDocument> documents, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            (connection, token) => ScalarAsync(
                connection, PostgresSharedSql.Fill, token,
                new() { Value = kind },
                new() { Value = generation.ToByteArray() },
                new() { Value = Volatile.Read(ref _channel) },
                new() { Value = isNew },
                new() { Value = documents.Select(static document => document.Key).ToArray() },
                new() { Value = documents.Select(static document => document.Value).ToArray() },
                new()
                {
                    Value = documents.Select(static document => document.Touched?.UtcDateTime).ToArray(),
                    NpgsqlDbType = NpgsqlDbType.Array | NpgsqlDbType.TimestampTz,
                }),
            cancellationToken);

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

    private Task<SharedOutcome> ChangeSharedAsync(
        string kind, Guid generation, Func<NpgsqlConnection, CancellationToken, Task<SharedOutcome>> change,
        CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) =>
            {
                var transaction = await connection.BeginTransactionAsync(token).ConfigureAwait(false);
                await using (transaction.ConfigureAwait(false))
                {
                    if (await ScalarAsync(
                        connection, PostgresSharedSql.Lock, token, new() { Value = kind }, new() { Value = generation.ToByteArray() })
                        .ConfigureAwait(false) is not true)
                    {
                        return SharedOutcome.Emptied;
                    }

                    var outcome = await change(connection, token).ConfigureAwait(false);
                    await transaction.CommitAsync(token).ConfigureAwait(false);
                    return outcome;
                }
            },
            cancellationToken);
}
