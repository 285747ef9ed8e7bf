using System.Diagnostics;
using Npgsql;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <summary>Shares of limits in PostgreSQL: one transaction, which is short. Thread-safe.</summary>
/// <param name="connections">The connections.</param>
/// <param name="deadline">How long a call may take; null: as long as they mostly take, half a second at most.</param>
internal sealed class PostgresShares(PostgresConnections connections, TimeSpan? deadline) : IShareBoard
{
    /// <summary>How long a call may take at least.</summary>
    public static readonly TimeSpan Least = TimeSpan.FromMilliseconds(100);

    /// <summary>How long it may take at most: shares that come late are of little use.</summary>
    public static readonly TimeSpan Most = TimeSpan.FromMilliseconds(500);

    private readonly CallPatience _patience = new(deadline ?? Least, deadline ?? Most);

    /// <inheritdoc/>
    public async Task ExchangeAsync(
        string node, IReadOnlyList<ShareWish> wishes, TimeSpan keptFor, CancellationToken cancellationToken)
    {
        var began = Stopwatch.GetTimestamp();
        try
        {
            await connections.CallAsync(
                async (connection, token) =>
                {
                    var transaction = await connection.BeginTransactionAsync(token).ConfigureAwait(false);
                    await using (transaction.ConfigureAwait(false))
                    {
                        var views = await ReadAsync(connection, node, wishes, keptFor, token).ConfigureAwait(false);
                        var decided = wishes.Select((wish, i) => (Wish: wish, Part: wish.Decide(views[i]))).ToList();
                        await WriteAsync(connection, node, decided, keptFor, token).ConfigureAwait(false);
                        await transaction.CommitAsync(token).ConfigureAwait(false);
                        return true;
                    }
                },
                cancellationToken,
                _patience.Next).ConfigureAwait(false);
        }
        catch (StoreUnavailableException)
        {
            _patience.Lost();
            throw;
        }

        _patience.Took(Stopwatch.GetElapsedTime(began));
    }

    private static async Task<ShareView[]> ReadAsync(
        NpgsqlConnection connection, string node, IReadOnlyList<ShareWish> wishes, TimeSpan keptFor, CancellationToken cancellationToken)
    {
        var (names, groups) = (wishes.Select(static wish => wish.Name).ToArray(), wishes.Select(static wish => wish.Group).ToArray());
        var reports = new List<(ShareReport Report, TimeSpan Age)>?[names.Length];
        var leases = new Dictionary<string, TimeSpan>?[names.Length];
        var batch = new NpgsqlBatch(connection);
        await using (batch.ConfigureAwait(false))
        {
            batch.BatchCommands.Add(new NpgsqlBatchCommand(PostgresShareSql.Settings));
            batch.BatchCommands.Add(Command(PostgresShareSql.Lock, [names]));
            batch.BatchCommands.Add(Command(PostgresShareSql.Read, [names, groups, ShareView.Reserved]));
            batch.BatchCommands.Add(Command(PostgresShareSql.Leases, [names, groups, ShareView.Reserved]));
            var reader = await batch.ExecuteReaderAsync(cancellationToken).ConfigureAwait(false);
            await using (reader.ConfigureAwait(false))
            {
                await reader.NextResultAsync(cancellationToken).ConfigureAwait(false);
                await reader.NextResultAsync(cancellationToken).ConfigureAwait(false);
                while (await reader.ReadAsync(cancellationToken).ConfigureAwait(false))
                {
                    (reports[reader.GetInt64(0) - 1] ??= []).Add((
                        ShareReport.Of(reader.GetString(1), reader.GetDouble(2), reader.GetDouble(3)), keptFor - reader.GetTimeSpan(4)));
                }

                await reader.NextResultAsync(cancellationToken).ConfigureAwait(false);
                while (await reader.ReadAsync(cancellationToken).ConfigureAwait(false))
                {
                    (leases[reader.GetInt64(0) - 1] ??= new(StringComparer.Ordinal))[reader.GetString(1)] =
                        ClusterTimes.Lease - reader.GetTimeSpan(2);
                }
            }
        }

        return [.. names.Select((_, i) => ShareView.Of(node, reports[i] ?? [], leases[i] ?? []))];
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
