using Tunnel2.ProxyEntry.Cluster.Postgres;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Postgres;

[Collection<PostgresCollection>]
public sealed class PostgresListenerTests(PostgresServer server)
{
    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task A_process_of_the_database_that_is_busy_is_waited_for()
    {
        // As a 'listen' that reads a long queue of notifications: no time limit of the database ends it.
        await using var connections = new PostgresConnections(await server.CreateDatabaseAsync(Ending));
        await using var connection = await connections.OpenAsync(Ending);
        await PostgresListener.ExecuteAsync(connections, connection, "set statement_timeout = 0", Ending);
        await PostgresListener.ExecuteAsync(connections, connection, "select pg_sleep(2.5)", Ending);
        Assert.Equal(System.Data.ConnectionState.Open, connection.State);
    }

    [Fact]
    public async Task A_database_that_is_frozen_is_given_up()
    {
        await using var connections = new PostgresConnections(await server.CreateDatabaseAsync(Ending));
        await using var connection = await connections.OpenAsync(Ending);
        server.Freeze();
        try
        {
            await Assert.ThrowsAnyAsync<OperationCanceledException>(
                () => PostgresListener.ExecuteAsync(connections, connection, "select 1", Ending));
        }
        finally
        {
            server.Thaw();
        }
    }

    [Fact]
    public async Task The_end_of_the_node_ends_the_wait()
    {
        await using var connections = new PostgresConnections(await server.CreateDatabaseAsync(Ending));
        await using var connection = await connections.OpenAsync(Ending);
        await PostgresListener.ExecuteAsync(connections, connection, "set statement_timeout = 0", Ending);
        using var ended = CancellationTokenSource.CreateLinkedTokenSource(Ending);
        var waiting = PostgresListener.ExecuteAsync(connections, connection, "select pg_sleep(600)", ended.Token);
        await ended.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting);
    }
}
