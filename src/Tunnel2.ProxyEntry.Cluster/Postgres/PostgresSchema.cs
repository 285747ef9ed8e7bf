using Npgsql;
using Tunnel2.ProxyEntry.Cluster.Diagnostics;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <summary>
/// The tables and their versions. One node changes them, under an advisory lock. A change works with nodes of the release before, or says
/// by its <c>least_node</c> which nodes it shuts out. Its statements leave alone what is there already: they run again where a part of it
/// was removed by hand.
/// </summary>
internal static class PostgresSchema
{
    /// <summary>The version that this release makes.</summary>
    public const int Version = 10;

    /// <summary>The oldest release, by the version that it makes, that works with <see cref="Version"/>.</summary>
    private const int LeastNode = 1;

    private const string Prefix = "schema/";

    /// <summary>Whether the tables are as they should be.</summary>
    /// <returns>The current schema, by which nodes hear each other; null: <see cref="PrepareAsync"/> has to be called.</returns>
    public static async Task<string?> FindAsync(NpgsqlConnection connection, CancellationToken cancellationToken) =>
        await ReadVersionAsync(connection, cancellationToken).ConfigureAwait(false) == Version
            ? await ScalarAsync(connection, PostgresSql.CurrentSchema, cancellationToken).ConfigureAwait(false) as string
            : null;

    /// <summary>Makes or updates the tables, if needed.</summary>
    /// <returns>The current schema.</returns>
    public static async Task<string> PrepareAsync(NpgsqlConnection connection, ILogger logger, CancellationToken cancellationToken)
    {
        var transaction = await connection.BeginTransactionAsync(cancellationToken).ConfigureAwait(false);
        await using (transaction.ConfigureAwait(false))
        {
            // A wait for the node that makes them now, and a change, take longer than a call.
            await ExecuteAsync(
                connection, "set local statement_timeout = '30s'; set local lock_timeout = '30s'", cancellationToken).ConfigureAwait(false);
            if (await ScalarAsync(connection, PostgresSql.CurrentSchema, cancellationToken).ConfigureAwait(false) is not string name)
            {
                throw new StoreUnavailableException("no schema to work in");
            }

            if (await ReadVersionAsync(connection, cancellationToken).ConfigureAwait(false) == Version)
            {
                return name;
            }

            // Held until the end of the transaction. Who waited here finds the work done.
            await ExecuteAsync(
                connection, $"select pg_advisory_xact_lock({PostgresSql.MigrationLock})", cancellationToken).ConfigureAwait(false);
            await ExecuteAsync(connection, PostgresSql.CreateSchemaTable, cancellationToken).ConfigureAwait(false);
            var version = await ReadVersionAsync(connection, cancellationToken).ConfigureAwait(false);
            if (version >= Version)
            {
                return name;
            }

            for (var next = version + 1; next <= Version; next++)
            {
                if (await ReadAsync(next, cancellationToken).ConfigureAwait(false) is { } statements)
                {
                    await ExecuteAsync(connection, statements, cancellationToken).ConfigureAwait(false);
                }
            }

            await ExecuteAsync(
                connection,
                $"delete from tunnel2_schema; insert into tunnel2_schema values ({Version}, {LeastNode}, clock_timestamp())",
                cancellationToken).ConfigureAwait(false);
            await transaction.CommitAsync(cancellationToken).ConfigureAwait(false);
            ClusterLog.SchemaUpdated(logger, Version);
            return name;
        }
    }

    /// <summary>The statements of a version; null: its number was never given.</summary>
    public static async Task<string?> ReadAsync(int version, CancellationToken cancellationToken)
    {
        var stream = typeof(PostgresSchema).Assembly.GetManifestResourceStream($"{Prefix}{version:000}.sql");
        if (stream is null)
        {
            return null;
        }

        await using (stream.ConfigureAwait(false))
        {
            using var reader = new StreamReader(stream);
            return await reader.ReadToEndAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>
    /// The version of the tables, <see cref="Version"/> if they are newer and still for this release; 0: there are none, or not all.
    /// </summary>
    private static async Task<int> ReadVersionAsync(NpgsqlConnection connection, CancellationToken cancellationToken)
    {
        if (await ScalarAsync(connection, PostgresSql.SchemaTable, cancellationToken).ConfigureAwait(false) is not string)
        {
            return 0;
        }

        var version = await ReadNumberAsync(connection, cancellationToken).ConfigureAwait(false);
        return version == Version
            && await ScalarAsync(connection, PostgresSql.MissingParts, cancellationToken).ConfigureAwait(false) is not 0L
                ? 0 : Math.Min(version, Version);
    }

    /// <summary>The tables say that this release is too old for them.</summary>
    public static StoreUnavailableException TooNew(int version) =>
        new($"its schema {version} needs a newer release of this node") { IsForNewerNodes = true };

    private static async Task<int> ReadNumberAsync(NpgsqlConnection connection, CancellationToken cancellationToken)
    {
        var command = new NpgsqlCommand(PostgresSql.SchemaVersion, connection);
        await using (command.ConfigureAwait(false))
        {
            var reader = await command.ExecuteReaderAsync(cancellationToken).ConfigureAwait(false);
            await using (reader.ConfigureAwait(false))
            {
                if (!await reader.ReadAsync(cancellationToken).ConfigureAwait(false))
                {
                    return 0;
                }

                var (version, least) = (reader.GetInt32(0), reader.GetInt32(1));
                return least > Version ? throw TooNew(version) : version;
            }
        }
    }

    private static async Task ExecuteAsync(NpgsqlConnection connection, string text, CancellationToken cancellationToken)
    {
        var command = new NpgsqlCommand(text, connection);
        await using (command.ConfigureAwait(false))
        {
            await command.ExecuteNonQueryAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    private static async Task<object?> ScalarAsync(NpgsqlConnection connection, string text, CancellationToken cancellationToken)
    {
        var command = new NpgsqlCommand(text, connection);
        await using (command.ConfigureAwait(false))
        {
            return await command.ExecuteScalarAsync(cancellationToken).ConfigureAwait(false);
        }
    }
}
