using Npgsql;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <summary>Shares of limits in PostgreSQL: one transaction, which is short. Thread-safe.</summary>
/// <param name="connections">The connections.</param>
/// <param name="deadline">How long a call may take; null: half a second. Shares that come late are of little use.</param>
internal sealed class PostgresShares(PostgresConnections connections, TimeSpan? deadline) : IShareBoard
{
    private readonly TimeSpan _deadline = deadline ?? TimeSpan.FromMilliseconds(500);

    /// <inheritdoc/>
    public Task ExchangeAsync(string node, IReadOnlyList<ShareWish> wishes, TimeSpan keptFor, CancellationToken cancellationToken) =>
        connections.CallAsync(
            async (connection, token) =>
            {
                var transaction = await connection.BeginTransactionAsync(token).ConfigureAwait(false);
                await using (transaction.ConfigureAwait(false))
                {
                    var views = await ReadAsync(connection, node, wishes, token).ConfigureAwait(false);
                    var decided = wishes.Select((wish, i) => (Wish: wish, Part: wish.Decide(views[i]))).ToList();
                    await WriteAsync(connection, node, decided, keptFor, token).ConfigureAwait(false);
                    await transaction.CommitAsync(token).ConfigureAwait(false);
                    return true;
                }
            },
            cancellationToken,
            _deadline);

    private static async Task<ShareView[]> ReadAsync(
        NpgsqlConnection connection, string node, IReadOnlyList<ShareWish> wishes, CancellationToken cancellationToken)
    {
        var (names, groups) = (wishes.Select(static wish => wish.Name).ToArray(), wishes.Select(static wish => wish.Group).ToArray());
        var own = new double[names.Length];
        var others = new List<ShareReport>?[names.Length];
        var nodes = new int[names.Length];
        var batch = new NpgsqlBatch(connection);
        await using (batch.ConfigureAwait(false))
        {
            batch.BatchCommands.Add(new NpgsqlBatchCommand(PostgresShareSql.Settings));
            batch.BatchCommands.Add(Command(PostgresShareSql.Lock, [names]));
            batch.BatchCommands.Add(Command(PostgresShareSql.Read, [names, groups]));
            batch.BatchCommands.Add(Command(PostgresShareSql.Count, [names, groups]));
            var reader = await batch.ExecuteReaderAsync(cancellationToken).ConfigureAwait(false);
            await using (reader.ConfigureAwait(false))
            {
                await reader.NextResultAsync(cancellationToken).ConfigureAwait(false);
                await reader.NextResultAsync(cancellationToken).ConfigureAwait(false);
                while (await reader.ReadAsync(cancellationToken).ConfigureAwait(false))
                {
                    var i = reader.GetInt64(0) - 1;
                    if (reader.GetString(1) == node)
                    {
                        own[i] = reader.GetDouble(3);
                    }
                    else
                    {
                        (others[i] ??= []).Add(new ShareReport(reader.GetString(1), reader.GetDouble(2), reader.GetDouble(3)));
                    }
                }

                await reader.NextResultAsync(cancellationToken).ConfigureAwait(false);
                while (await reader.ReadAsync(cancellationToken).ConfigureAwait(false))
                {
                    nodes[reader.GetInt64(0) - 1] = (int)reader.GetInt64(1);
                }
            }
        }

        return [.. names.Select((_, i) => new ShareView(own[i], others[i] ?? [], nodes[i]))];
    }

    private static async Task WriteAsync(
        NpgsqlConnection connection, string node, List<(ShareWish Wish, double? Part)> decided, TimeSpan keptFor,
        CancellationToken cancellationToken)
    {
        var kept = decided.Where(static one => one.Part is not null).ToList();
        var batch = new NpgsqlBatch(connection);
        await using (batch.ConfigureAwait(false))
        {
            if (kept.Count > 0)
            {
                batch.BatchCommands.Add(Command(
                    PostgresShareSql.Write,
                    [
                        node,
                        keptFor,
                        kept.Select(static one => one.Wish.Name).ToArray(),
                        kept.Select(static one => one.Wish.Group).ToArray(),
                        kept.Select(static one => one.Wish.Demand).ToArray(),
                        kept.Select(static one => one.Part!.Value).ToArray(),
                    ]));
            }

            if (kept.Count < decided.Count)
            {
                batch.BatchCommands.Add(Command(
                    PostgresShareSql.Remove,
                    [node, decided.Where(static one => one.Part is null).Select(static one => one.Wish.Name).ToArray()]));
            }

            await batch.ExecuteNonQueryAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    private static NpgsqlBatchCommand Command(string text, IEnumerable<object> values)
    {
        var command = new NpgsqlBatchCommand(text);
        foreach (var value in values)
        {
            command.Parameters.Add(new NpgsqlParameter { Value = value });
        }

        return command;
    }
}
