using System.Globalization;
using Npgsql;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <summary>Hears changes on a connection of its own. A connection that says nothing is asked whether it still works.</summary>
internal static class PostgresListener
{
    private static readonly TimeSpan _silence = TimeSpan.FromSeconds(3);

    /// <summary>Runs until the connection fails.</summary>
    /// <exception cref="StoreUnavailableException">It failed.</exception>
    public static async Task RunAsync(
        PostgresConnections connections, Func<string> channel, Action listening, Action<NameNotice> heard,
        Action<string> asked, Action<string> shared, CancellationToken cancellationToken)
    {
        try
        {
            var connection = await WithinAsync(token => connections.OpenAsync(token).AsTask(), cancellationToken).ConfigureAwait(false);
            await using (connection.ConfigureAwait(false))
            {
                var name = channel();
                connection.Notification += (_, notification) =>
                {
                    if (notification.Payload.StartsWith(PostgresNodeSql.LookNotice, StringComparison.Ordinal))
                    {
                        asked(notification.Payload[PostgresNodeSql.LookNotice.Length..]);
                    }
                    else if (notification.Payload.StartsWith(PostgresSharedSql.SharedNotice, StringComparison.Ordinal))
                    {
                        shared(notification.Payload[PostgresSharedSql.SharedNotice.Length..]);
                    }
                    else if (TryRead(notification.Payload, out var notice))
                    {
                        heard(notice!);
                    }
                };
                await ExecuteAsync(connections, connection, $"listen \"{name.Replace("\"", "\"\"", StringComparison.Ordinal)}\"",
                    cancellationToken).ConfigureAwait(false);
                listening();
                while (channel() == name)
                {
                    if (!await connection.WaitAsync(_silence, cancellationToken).ConfigureAwait(false))
                    {
                        await ExecuteAsync(connections, connection, "select 1", cancellationToken).ConfigureAwait(false);
                    }
                }
            }
        }
        catch (Exception exception) when (
            PostgresConnections.IsOfDatabase(exception)
                || (exception is OperationCanceledException && !cancellationToken.IsCancellationRequested))
        {
            throw PostgresConnections.Translate(exception);
        }
    }

    /// <summary>
    /// Reads what the statements send: state, name, node, epoch, address, process; for a name that is shared also share, place, health and
    /// weight.
    /// </summary>
    public static bool TryRead(string payload, out NameNotice? notice)
    {
        notice = null;
        var parts = payload.Split('\n');
        if (parts.Length < 6
            || !int.TryParse(parts[0], NumberStyles.None, CultureInfo.InvariantCulture, out var state)
            || state > (int)StoredState.Left
            || !long.TryParse(parts[3], NumberStyles.None, CultureInfo.InvariantCulture, out var epoch))
        {
            return false;
        }

        try
        {
            var share = parts.Length < 10 || parts[6].Length == 0
                ? null
                : new NameShare(Convert.FromHexString(parts[6]), Convert.FromHexString(parts[7]), IsPool: false, parts[8] == "1");
            notice = new NameNotice(
                (StoredState)state, parts[1], parts[2], epoch, parts[4], Convert.FromHexString(parts[5]), share,
                share is not null && int.TryParse(parts[9], NumberStyles.None, CultureInfo.InvariantCulture, out var weight) ? weight : 1);
            return true;
        }
        catch (FormatException)
        {
            return false;
        }
    }

    /// <summary>
    /// Runs a statement on the connection that hears. Where the process of the database is busy it waits for it: with a long queue of
    /// notifications a <c>listen</c> takes minutes, which nothing ends, and each further one would be a process more that does the same.
    /// </summary>
    /// <exception cref="OperationCanceledException">The database does not answer, or nothing more is to come.</exception>
    public static async Task ExecuteAsync(
        PostgresConnections connections, NpgsqlConnection connection, string text, CancellationToken cancellationToken)
    {
        using var limit = new CancellationTokenSource();
        using var handing = PostgresConnections.HandOn(limit, cancellationToken);
        var process = connection.ProcessID;
        var command = new NpgsqlCommand(text, connection);
        await using (command.ConfigureAwait(false))
        {
            var running = command.ExecuteNonQueryAsync(limit.Token);
            while (await Task.WhenAny(running, Task.Delay(PostgresConnections.Deadline, limit.Token)).ConfigureAwait(false) != running
                && !cancellationToken.IsCancellationRequested)
            {
                if (!await IsBusyAsync(connections, process, cancellationToken).ConfigureAwait(false))
                {
                    await limit.CancelAsync().ConfigureAwait(false);
                }
            }

            await running.ConfigureAwait(false);
        }
    }

    /// <summary>Whether a process of the database works, and does not wait for its client.</summary>
    private static async Task<bool> IsBusyAsync(PostgresConnections connections, int process, CancellationToken cancellationToken)
    {
        try
        {
            return await connections.CallAsync(
                async (connection, token) =>
                {
                    var command = new NpgsqlCommand(PostgresSql.IsBusy, connection);
                    command.Parameters.Add(new NpgsqlParameter { Value = process });
                    await using (command.ConfigureAwait(false))
                    {
                        return await command.ExecuteScalarAsync(token).ConfigureAwait(false) is true;
                    }
                },
                cancellationToken).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is StoreUnavailableException or OperationCanceledException)
        {
            return false;
        }
    }

    private static async Task<T> WithinAsync<T>(Func<CancellationToken, Task<T>> call, CancellationToken cancellationToken)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(PostgresConnections.Deadline);
        return await call(limit.Token).ConfigureAwait(false);
    }
}
