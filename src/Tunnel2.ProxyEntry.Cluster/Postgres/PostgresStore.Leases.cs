namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <content>Values that end by themselves.</content>
internal sealed partial class PostgresStore
{
    /// <inheritdoc/>
    public Task<bool> TakeLeaseAsync(
        string kind, string key, byte[] value, TimeSpan life, bool isForced, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) => await ScalarAsync(
                connection, PostgresLeaseSql.Take, token, new() { Value = kind }, new() { Value = key }, new() { Value = value },
                new() { Value = life }, new() { Value = isForced }).ConfigureAwait(false) is true,
            cancellationToken);

    /// <inheritdoc/>
    public Task<byte[]?> FindLeaseAsync(string kind, string key, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) => await ScalarAsync(
                connection, PostgresLeaseSql.Find, token, new() { Value = kind }, new() { Value = key }).ConfigureAwait(false) as byte[],
            cancellationToken);

    /// <inheritdoc/>
    public Task ReleaseLeaseAsync(string kind, string key, byte[] value, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            (connection, token) => ScalarAsync(
                connection, PostgresLeaseSql.Release, token, new() { Value = kind }, new() { Value = key }, new() { Value = value }),
            cancellationToken);
}
