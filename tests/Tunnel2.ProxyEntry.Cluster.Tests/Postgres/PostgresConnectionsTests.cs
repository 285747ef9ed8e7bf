using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Postgres;

/// <summary>What connections decide without a database.</summary>
public sealed class PostgresConnectionsTests
{
    [Fact]
    public async Task A_full_queue_is_asked_for_once_in_ten_seconds_of_the_clock_that_is_given()
    {
        var time = new ManualTimeProvider();
        await using var connections = new PostgresConnections("Host=127.0.0.1;Username=none", timeProvider: time);
        Assert.True(connections.IsQueueToBeAskedFor());
        Assert.False(connections.IsQueueToBeAskedFor());
        time.Advance(PostgresConnections.QueueEvery - TimeSpan.FromMilliseconds(1));
        Assert.False(connections.IsQueueToBeAskedFor());
        time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.True(connections.IsQueueToBeAskedFor());
        Assert.False(connections.IsQueueToBeAskedFor());
    }
}
