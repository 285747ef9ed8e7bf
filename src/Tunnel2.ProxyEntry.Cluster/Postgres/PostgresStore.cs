using Npgsql;
using NpgsqlTypes;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <summary>The store in PostgreSQL. Thread-safe.</summary>
internal sealed partial class PostgresStore : IClusterStore
{
    private static readonly TimeSpan _preparation = TimeSpan.FromSeconds(30);

    /// <summary>The wait after a refusal whose cause was gone when it was asked for.</summary>
    private static readonly TimeSpan _again = TimeSpan.FromMilliseconds(500);

    private readonly PostgresConnections _connections;
    private readonly ILogger _logger;
    private string _channel = "tunnel2";

    /// <param name="connectionString">The setting.</param>
    /// <param name="logger">The log.</param>
    /// <param name="deadline">How long a call may take; null: a second. For programs that no request waits for.</param>
    /// <param name="timeProvider">The clock; null: the system's.</param>
    public PostgresStore(
        string connectionString, ILogger<PostgresStore> logger, TimeSpan? deadline = null, TimeProvider? timeProvider = null)
    {
        _connections = new PostgresConnections(connectionString, deadline, timeProvider);
        Shares = new PostgresShares(_connections, deadline);
        _logger = logger;
    }

    /// <summary>The shares of limits, over the same connections.</summary>
    public IShareBoard Shares { get; }

    /// <inheritdoc/>
    public async Task PrepareAsync(CancellationToken cancellationToken)
    {
        var schema = await _connections.PrepareAsync(
            PostgresSchema.FindAsync, (connection, token) => PostgresSchema.PrepareAsync(connection, _logger, token), _preparation,
            cancellationToken).ConfigureAwait(false);
        Volatile.Write(ref _channel, $"tunnel2_{schema}");
    }

    /// <inheritdoc/>
    public Task<NodeLease?> AcquireAsync(
        NodeFacts node, TimeSpan lease, bool isFirst, long floor, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) =>
            {
                await ScalarAsync(connection, PostgresSql.Raise, token, new NpgsqlParameter { Value = floor }).ConfigureAwait(false);
                var incarnation = await ScalarAsync(
                    connection, PostgresSql.Acquire, token, new() { Value = node.Node }, new() { Value = node.Process },
                    new() { Value = node.LinkAddress }, new() { Value = node.Version }, new() { Value = lease }, new() { Value = isFirst },
                    new() { Value = node.UplinkAddress }, new() { Value = node.Zone }, new() { Value = node.Domain }).ConfigureAwait(false);
                if (incarnation is not long number)
                {
                    return null;
                }

                await ScalarAsync(connection, PostgresNodeSql.NotifyJoined, token, new NpgsqlParameter { Value = node.Node })
                    .ConfigureAwait(false);
                return new NodeLease(node.Node, number);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> RenewAsync(
        NodeFacts node, NodeLease held, TimeSpan lease, long floor, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) =>
            {
                var rows = await ReadAsync(
                    connection, PostgresSql.Renew,
                    static reader => (IsBehind: reader.GetBoolean(0), TooNew: reader.IsDBNull(1) ? (int?)null : reader.GetInt32(1)),
                    token, new() { Value = held.Node }, new() { Value = node.Process }, new() { Value = held.Incarnation },
                    new() { Value = lease }, new() { Value = node.LinkAddress }, new() { Value = floor },
                    new() { Value = PostgresSchema.Version }).ConfigureAwait(false);
                if (rows is [{ TooNew: { } version }])
                {
                    throw PostgresSchema.TooNew(version);
                }

                if (rows is [{ IsBehind: true }])
                {
                    await ScalarAsync(connection, PostgresSql.Raise, token, new NpgsqlParameter { Value = floor }).ConfigureAwait(false);
                }

                return rows.Count > 0;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task ReleaseAsync(NodeLease held, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            (connection, token) => ScalarAsync(
                connection, PostgresNodeSql.Release, token, new() { Value = held.Node }, new() { Value = held.Incarnation }),
            cancellationToken);

    /// <inheritdoc/>
    public Task<ClaimResult> ClaimAsync(NodeLease held, NameClaim claim, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) =>
            {
                var result = (await PutAsync(connection, held, [claim], isPublished: false, token).ConfigureAwait(false))[0];
                return result.Status == ClaimStatus.Taken && result.FreeIn == TimeSpan.Zero
                    && await ScalarAsync(
                        connection, PostgresSql.LeaseRest, token, new() { Value = claim.Name }, new() { Value = result.Epoch },
                        new() { Value = claim.Owner }).ConfigureAwait(false) is TimeSpan rest
                    ? result with { LeaseRest = rest }
                    : result;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<ClaimResult>> PublishAsync(
        NodeLease held, IReadOnlyList<NameClaim> claims, CancellationToken cancellationToken) =>
        PutAsync(held, claims, isPublished: true, cancellationToken);

    /// <inheritdoc/>
    public Task ChangeAsync(NodeLease held, IReadOnlyList<NameChange> changes, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) =>
            {
                await ChangeAsync(connection, held, [.. changes.Where(static change => change.IsHealthy is null)], token)
                    .ConfigureAwait(false);
                foreach (var change in changes.Where(static change => change.IsHealthy is not null))
                {
                    await ScalarAsync(
                        connection, PostgresSql.ChangeShared, token, new() { Value = held.Node },
                        new() { Value = Volatile.Read(ref _channel) }, new() { Value = change.Name }, new() { Value = change.Epoch },
                        new() { Value = (short)change.State }, new() { Value = change.KeptFor }, new() { Value = change.IsHealthy!.Value })
                        .ConfigureAwait(false);
                }

                return true;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<LocatedName> LocateAsync(string name, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) =>
            {
                var rows = await ReadAsync(
                    connection, PostgresSql.Locate,
                    static reader => (
                        Group: reader.IsDBNull(4) ? "" : Convert.ToHexStringLower(reader.GetFieldValue<byte[]>(4)),
                        AwaitedFor: reader.GetTimeSpan(8),
                        Place: reader.IsDBNull(0) ? null : new NodePlace(
                            new NodeLocation(reader.GetString(0), reader.GetString(1), reader.GetInt64(2)),
                            reader.IsDBNull(5) ? "" : Convert.ToHexStringLower(reader.GetFieldValue<byte[]>(5)),
                            reader.GetBoolean(6),
                            reader.GetInt16(3) == (short)StoredState.HandingOver,
                            reader.GetInt32(7))),
                    token, new NpgsqlParameter { Value = name }).ConfigureAwait(false);
                NodePlace[] places = [.. rows.Select(static row => row.Place).OfType<NodePlace>()];
                return places.Length > 0 ? new LocatedName(new NodePlaces(rows.First(static row => row.Place is not null).Group, places))
                    : new LocatedName(null, rows.Count == 0 ? null : rows.Max(static row => row.AwaitedFor));
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<byte[]?> FindOwnerAsync(string name, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) => await ScalarAsync(
                connection, PostgresSql.FindOwner, token, new NpgsqlParameter { Value = name }).ConfigureAwait(false) as byte[],
            cancellationToken);

    /// <inheritdoc/>
    public Task<NameSum> SumAsync(NodeLease held, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) => (await ReadAsync(
                connection, PostgresSql.Sum, static reader => new NameSum(reader.GetInt64(0), reader.GetInt64(1)), token,
                new() { Value = held.Node }, new() { Value = held.Incarnation }).ConfigureAwait(false))[0],
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<(string Name, long Epoch, bool IsShared)>> ListAsync(
        NodeLease held, CancellationToken cancellationToken) =>
        _connections.CallAsync<IReadOnlyList<(string Name, long Epoch, bool IsShared)>>(
            async (connection, token) => await ReadAsync(
                connection, PostgresSql.List, static reader => (reader.GetString(0), reader.GetInt64(1), reader.GetBoolean(2)), token,
                new() { Value = held.Node }, new() { Value = held.Incarnation }).ConfigureAwait(false),
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<NodeStatus>> ListNodesAsync(CancellationToken cancellationToken) =>
        _connections.CallAsync<IReadOnlyList<NodeStatus>>(
            async (connection, token) => await ReadAsync(
                connection, PostgresSql.Nodes,
                static reader => new NodeStatus(
                    reader.GetString(0), reader.GetString(1), reader.GetString(2), reader.GetTimeSpan(3), reader.GetInt64(4),
                    reader.GetBoolean(5)),
                token).ConfigureAwait(false),
            cancellationToken);

    /// <summary>Whether the database takes no changes, as a standby does: then no node renews its lease.</summary>
    /// <exception cref="StoreUnavailableException">It does not answer.</exception>
    public Task<bool> IsReadOnlyAsync(CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) =>
                await ScalarAsync(connection, "select current_setting('transaction_read_only')", token).ConfigureAwait(false) is "on",
            cancellationToken);

    /// <inheritdoc/>
    public Task TidyAsync(CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) =>
            {
                // The keeper's own calls do not use all tables.
                if (await PostgresSchema.FindAsync(connection, token).ConfigureAwait(false) is null)
                {
                    throw new StoreUnavailableException("its tables are missing", true);
                }

                await ScalarAsync(connection, PostgresSql.TidyMembers, token).ConfigureAwait(false);
                await ScalarAsync(connection, PostgresSql.TidyNames, token).ConfigureAwait(false);
                await ScalarAsync(connection, PostgresShareSql.Tidy, token).ConfigureAwait(false);
                await ScalarAsync(connection, PostgresSql.TidyTunnels, token).ConfigureAwait(false);
                return await ScalarAsync(connection, PostgresSql.TidyNodes, token).ConfigureAwait(false);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<NodeSurroundings> LookAroundAsync(string node, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) =>
            {
                var rows = await ReadAsync(
                    connection, PostgresNodeSql.LookAround,
                    static reader => (
                        Location: new NodeLocation(reader.GetString(0), reader.GetString(1), 0), IsDrained: reader.GetBoolean(2),
                        Uplink: reader.GetString(3), Zone: reader.GetString(4),
                        LostFor: reader.IsDBNull(5) ? (TimeSpan?)null : reader.GetFieldValue<TimeSpan>(5), Domain: reader.GetString(6)),
                    token, new() { Value = node }, new() { Value = NodeSurroundings.LostFor }).ConfigureAwait(false);
                var lost = rows.Where(static row => row.LostFor is not null)
                    .Select(static row => (row.Location, row.LostFor!.Value)).ToArray();
                rows = [.. rows.Where(static row => row.LostFor is null)];
                return new NodeSurroundings(
                    rows.Any(row => row.Location.NodeId == node && row.IsDrained),
                    [.. rows.Select(static row => row.Location).Where(other => other.NodeId != node && other.LinkAddress.Length > 0)])
                {
                    Lost = lost,
                    Domains = [.. rows.Where(row => row.Location.NodeId != node).Select(static row => (row.Location.NodeId, row.Domain))],
                    Announced =
                    [
                        .. rows.Where(row => row.Location.NodeId != node && !row.IsDrained)
                            .Select(static row => UplinkAddress.TryRead(row.Location.NodeId, row.Uplink, row.Zone)).OfType<AnnouncedNode>()
                            .Take(NodeSurroundings.MostAnnounced),
                    ],
                };
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> SetDrainedAsync(string node, bool isDrained, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            async (connection, token) => (await ReadAsync(
                connection, PostgresNodeSql.SetDrained, static reader => reader.GetString(1), token, new() { Value = node },
                new() { Value = isDrained }).ConfigureAwait(false)).Count > 0,
            cancellationToken);

    /// <inheritdoc/>
    /// <remarks>Ends at once when that is wished. The connection ends a moment later, also where the database hangs.</remarks>
    public Task ListenAsync(
        Action listening, Action<NameNotice> heard, Action<string> asked, Action<string> shared,
        CancellationToken cancellationToken) =>
        PostgresListener.RunAsync(_connections, () => Volatile.Read(ref _channel), listening, heard, asked, shared, cancellationToken)
            .WaitAsync(cancellationToken);

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => _connections.DisposeAsync();

    private async Task<bool> ChangeAsync(
        NpgsqlConnection connection, NodeLease held, NameChange[] changes, CancellationToken cancellationToken)
    {
        if (changes.Length > 0)
        {
            await ScalarAsync(
                connection, PostgresSql.Change, cancellationToken,
                new() { Value = held.Node },
                new() { Value = Volatile.Read(ref _channel) },
                new() { Value = changes.Select(static change => change.Name).ToArray() },
                new() { Value = changes.Select(static change => change.Epoch).ToArray() },
                new() { Value = changes.Select(static change => (short)change.State).ToArray() },
                new()
                {
                    Value = changes.Select(static change => change.KeptFor).ToArray(),
                    NpgsqlDbType = NpgsqlDbType.Array | NpgsqlDbType.Interval,
                }).ConfigureAwait(false);
        }

        return true;
    }

    private Task<IReadOnlyList<ClaimResult>> PutAsync(
        NodeLease held, IReadOnlyList<NameClaim> claims, bool isPublished, CancellationToken cancellationToken) =>
        _connections.CallAsync(
            (connection, token) => PutAsync(connection, held, claims, isPublished, token), cancellationToken);

    private async Task<IReadOnlyList<ClaimResult>> PutAsync(
        NpgsqlConnection connection, NodeLease held, IReadOnlyList<NameClaim> claims, bool isPublished, CancellationToken token)
    {
        var results = new ClaimResult[claims.Count];
        var alone = Enumerable.Range(0, claims.Count).Where(i => claims[i].Share is null).ToArray();
        var shared = Enumerable.Range(0, claims.Count).Where(i => claims[i].Share is not null).ToList();
        if (alone.Length > 0)
        {
            var got = await PutAloneAsync(
                connection, isPublished ? PostgresSql.Publish : PostgresSql.Claim, held, [.. alone.Select(i => claims[i])], token)
                .ConfigureAwait(false);
            for (var i = 0; i < alone.Length; i++)
            {
                if (got[i] is { } result)
                {
                    results[alone[i]] = result;
                }
                else
                {
                    // The name is shared: the statement of these decides.
                    shared.Add(alone[i]);
                }
            }
        }

        if (shared.Count > 0)
        {
            var got = await PutSharedAsync(connection, held, [.. shared.Select(i => claims[i])], isPublished, token).ConfigureAwait(false);
            for (var i = 0; i < shared.Count; i++)
            {
                results[shared[i]] = got[i];
            }
        }

        await NoteTunnelsAsync(connection, claims, results, token).ConfigureAwait(false);
        return results;
    }

    /// <summary>Registers names that one session has for itself. A result is null where the name is shared.</summary>
    private async Task<ClaimResult?[]> PutAloneAsync(
        NpgsqlConnection connection, string statement, NodeLease held, NameClaim[] claims, CancellationToken token)
    {
        var lives = false;
        var epochs = new Dictionary<string, long>(StringComparer.Ordinal);
        foreach (var row in await ReadAsync(
            connection, statement,
            static reader => (
                Name: reader.IsDBNull(0) ? null : reader.GetString(0), Epoch: reader.IsDBNull(1) ? 0 : reader.GetInt64(1),
                Lives: reader.GetBoolean(2)),
            token,
            new() { Value = held.Node },
            new() { Value = held.Incarnation },
            new() { Value = Volatile.Read(ref _channel) },
            new() { Value = claims.Select(static claim => claim.Name).ToArray() },
            new() { Value = claims.Select(static claim => claim.Identity).ToArray() },
            new() { Value = claims.Select(static claim => claim.Owner).ToArray() },
            new() { Value = claims.Select(static claim => claim.Instance).ToArray() },
            new() { Value = claims.Select(static claim => claim.Weight).ToArray() },
            new() { Value = claims.Select(static claim => claim.Base).ToArray() }).ConfigureAwait(false))
        {
            lives |= row.Lives;
            if (row.Name is { } name)
            {
                epochs[name] = row.Epoch;
            }
        }

        if (!lives)
        {
            return [.. claims.Select(static claim => new ClaimResult(claim.Name, ClaimStatus.LeaseLost))];
        }

        var holders = new Dictionary<string, ClaimResult?>(StringComparer.Ordinal);
        if (epochs.Count < claims.Length)
        {
            var refused = claims.Select(static claim => claim.Name).Where(name => !epochs.ContainsKey(name)).ToArray();
            foreach (var (name, holder) in await ReadAsync(
                connection, PostgresSql.Holders,
                static reader => (
                    reader.GetString(0),
                    reader.GetBoolean(5)
                        ? null
                        : new ClaimResult(
                            reader.GetString(0), ClaimStatus.Taken, reader.GetInt64(2), reader.GetTimeSpan(4), reader.GetString(1),
                            reader.GetFieldValue<byte[]>(3))),
                token, new NpgsqlParameter { Value = refused }).ConfigureAwait(false))
            {
                holders[name] = holder;
            }
        }

        return
        [
            .. claims.Select(claim => epochs.TryGetValue(claim.Name, out var epoch)
                ? new ClaimResult(claim.Name, ClaimStatus.Claimed, epoch)
                : holders.TryGetValue(claim.Name, out var holder)
                ? holder
                : new ClaimResult(claim.Name, ClaimStatus.Taken, FreeIn: _again)),
        ];
    }

    private async Task<ClaimResult[]> PutSharedAsync(
        NpgsqlConnection connection, NodeLease held, NameClaim[] claims, bool isPublished, CancellationToken token)
    {
        var rows = await ReadAsync(
            connection, PostgresSql.PutShared,
            static reader => (
                Result: new ClaimResult(
                    reader.GetString(0), (ClaimStatus)reader.GetInt32(1), reader.IsDBNull(2) ? 0 : reader.GetInt64(2),
                    reader.GetTimeSpan(5), reader.IsDBNull(3) ? null : reader.GetString(3),
                    reader.IsDBNull(4) ? null : reader.GetFieldValue<byte[]>(4)),
                Position: reader.GetInt64(6)),
            token,
            new() { Value = held.Node },
            new() { Value = held.Incarnation },
            new() { Value = Volatile.Read(ref _channel) },
            new() { Value = claims.Select(static claim => claim.Name).ToArray() },
            new() { Value = claims.Select(static claim => claim.Share?.Member).ToArray() },
            new() { Value = claims.Select(static claim => claim.Share?.Group).ToArray() },
            new() { Value = claims.Select(static claim => claim.Share is { IsPool: true }).ToArray() },
            new() { Value = claims.Select(static claim => claim.Share?.IsHealthy ?? true).ToArray() },
            new() { Value = claims.Select(static claim => claim.Identity).ToArray() },
            new() { Value = claims.Select(static claim => claim.Owner).ToArray() },
            new() { Value = claims.Select(static claim => claim.Instance).ToArray() },
            new() { Value = claims.Select(static claim => claim.Weight).ToArray() },
            new() { Value = claims.Select(static claim => claim.Base).ToArray() },
            new() { Value = isPublished }).ConfigureAwait(false);
        return [.. rows.OrderBy(static row => row.Position).Select(static row => row.Result)];
    }

    private static async Task<List<T>> ReadAsync<T>(
        NpgsqlConnection connection, string text, Func<NpgsqlDataReader, T> read, CancellationToken cancellationToken,
        params NpgsqlParameter[] parameters)
    {
        var command = new NpgsqlCommand(text, connection);
        await using (command.ConfigureAwait(false))
        {
            command.Parameters.AddRange(parameters);
            var reader = await command.ExecuteReaderAsync(cancellationToken).ConfigureAwait(false);
            await using (reader.ConfigureAwait(false))
            {
                var rows = new List<T>();
                while (await reader.ReadAsync(cancellationToken).ConfigureAwait(false))
                {
                    rows.Add(read(reader));
                }

                return rows;
            }
        }
    }

    private static async Task<object?> ScalarAsync(
        NpgsqlConnection connection, string text, CancellationToken cancellationToken, params NpgsqlParameter[] parameters)
    {
        var command = new NpgsqlCommand(text, connection);
        await using (command.ConfigureAwait(false))
        {
            command.Parameters.AddRange(parameters);
            return await command.ExecuteScalarAsync(cancellationToken).ConfigureAwait(false);
        }
    }
}
