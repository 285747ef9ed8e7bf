using System.Text;
using Npgsql;
using NpgsqlTypes;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <content>What registrations carry that is not HTTP.</content>
internal sealed partial class PostgresStore : ITunnelStore
{
    /// <inheritdoc/>
    public Task<IReadOnlyList<ForeignTunnel>> ListTunnelsAsync(string node, int most, CancellationToken cancellationToken) =>
        _connections.CallAsync<IReadOnlyList<ForeignTunnel>>(
            async (connection, token) => await ReadAsync(
                connection, PostgresSql.ListTunnels, TunnelOf, token, new() { Value = node }, new() { Value = (long)most })
                .ConfigureAwait(false),
            cancellationToken);

    /// <inheritdoc/>
    public Task<ForeignTunnel?> FindTunnelAsync(string node, byte[] owner, string? token, CancellationToken cancellationToken) =>
        _connections.CallAsync<ForeignTunnel?>(
            async (connection, limit) => await ReadAsync(
                connection, PostgresSql.FindTunnel, TunnelOf, limit, new() { Value = node }, new() { Value = owner }, TextOf(token))
                .ConfigureAwait(false) is [var tunnel, ..] ? tunnel : null,
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> TakePortAsync(string node, ForeignTunnel tunnel, TimeSpan life, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) =>
            {
                var (kind, port) = ((short)tunnel.Kind, tunnel.Port);

                // After the lease: what had the port before has its row, or its lease has not ended.
                return await ScalarAsync(
                    connection, PostgresLeaseSql.Take, token, new() { Value = PostgresLeaseSql.Ports }, new() { Value = $"{kind}/{port}" },
                    new() { Value = Encoding.UTF8.GetBytes(tunnel.Name) }, new() { Value = life }, new() { Value = false })
                    .ConfigureAwait(false) is true
                    && await ScalarAsync(
                        connection, PostgresSql.HasPort, token, new() { Value = node }, new() { Value = kind }, new() { Value = port },
                        new() { Value = tunnel.Name }).ConfigureAwait(false) is false;
            },
            cancellationToken);

    private static NpgsqlParameter TextOf(string? text) => new() { Value = text ?? (object)DBNull.Value, NpgsqlDbType = NpgsqlDbType.Text };

    private static ForeignTunnel TunnelOf(NpgsqlDataReader reader) =>
        new(reader.GetString(0), (SessionKind)reader.GetInt16(1), reader.GetInt32(2));

    /// <summary>Says what registrations carry that have just been made. Those of HTTP need no row.</summary>
    private async Task NoteTunnelsAsync(
        NpgsqlConnection connection, IReadOnlyList<NameClaim> claims, ClaimResult[] results, CancellationToken token)
    {
        var made = Enumerable.Range(0, claims.Count)
            .Where(i => claims[i].Kind != SessionKind.Http && results[i].Status == ClaimStatus.Claimed).ToArray();
        if (made.Length > 0)
        {
            await ScalarAsync(
                connection, PostgresSql.NoteTunnels, token,
                new() { Value = Volatile.Read(ref _channel) },
                new() { Value = made.Select(i => results[i].Epoch).ToArray() },
                new() { Value = made.Select(i => claims[i].Name).ToArray() },
                new() { Value = made.Select(i => (short)claims[i].Kind).ToArray() },
                new() { Value = made.Select(i => claims[i].Port).ToArray() },
                new() { Value = made.Select(i => claims[i].Token).ToArray() }).ConfigureAwait(false);
        }
    }
}
