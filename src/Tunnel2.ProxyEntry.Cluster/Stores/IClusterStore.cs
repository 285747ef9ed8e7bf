namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>
/// Where nodes keep who lives and who owns which name. Every call ends within a second, with its result or a
/// <see cref="StoreUnavailableException"/>; two do not: <see cref="PrepareAsync"/> and <see cref="ListenAsync"/>. Time is that of the store
/// alone. Thread-safe.
/// </summary>
internal interface IClusterStore : IAsyncDisposable
{
    /// <summary>Makes or updates the tables, if that is needed and allowed. Has half a minute.</summary>
    Task PrepareAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Gets a new lease. Names of an earlier lease are no longer the node's. Epochs from now on are higher than <paramref name="floor"/>
    /// and than all from before an older copy of the store was put back.
    /// </summary>
    /// <param name="node">The node.</param>
    /// <param name="lease">How long it lives without a renewal.</param>
    /// <param name="isFirst">Takes the node's name also from another process that lives: this one was just started.</param>
    /// <param name="floor">The highest epoch that the node knows.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>Null when another process has the node's name.</returns>
    Task<NodeLease?> AcquireAsync(NodeFacts node, TimeSpan lease, bool isFirst, long floor, CancellationToken cancellationToken);

    /// <summary>Renews a lease that is not over.</summary>
    /// <returns>False when it is lost.</returns>
    Task<bool> RenewAsync(NodeFacts node, NodeLease held, TimeSpan lease, long floor, CancellationToken cancellationToken);

    /// <summary>Ends a lease: the node's names are free at once.</summary>
    Task ReleaseAsync(NodeLease held, CancellationToken cancellationToken);

    /// <summary>
    /// Registers a name. The same identity takes it from any node, the same owner one that is handed over or kept; a holder whose node has
    /// no lease has lost it. One that shares the name takes nothing from those that it belongs to.
    /// </summary>
    Task<ClaimResult> ClaimAsync(NodeLease held, NameClaim claim, CancellationToken cancellationToken);

    /// <summary>
    /// Registers names again that the node has served without the store. Unlike <see cref="ClaimAsync"/>, a registration that lives and is
    /// newer than <see cref="NameClaim.Base"/> stays, also one of the same identity.
    /// </summary>
    Task<IReadOnlyList<ClaimResult>> PublishAsync(
        NodeLease held, IReadOnlyList<NameClaim> claims, CancellationToken cancellationToken);

    /// <summary>Changes registrations of the node's own.</summary>
    Task ChangeAsync(NodeLease held, IReadOnlyList<NameChange> changes, CancellationToken cancellationToken);

    /// <summary>Which nodes that live serve a name, and where none does, whether its agent is expected back.</summary>
    Task<LocatedName> LocateAsync(string name, CancellationToken cancellationToken);

    /// <summary>The owner's digest of a name that a node serves. Null: none does.</summary>
    Task<byte[]?> FindOwnerAsync(string name, CancellationToken cancellationToken);

    /// <summary>The sum over the names that the store thinks the lease serves.</summary>
    Task<NameSum> SumAsync(NodeLease held, CancellationToken cancellationToken);

    /// <summary>The sessions that the store thinks the lease serves: names, epochs, and whether the name is shared.</summary>
    Task<IReadOnlyList<(string Name, long Epoch, bool IsShared)>> ListAsync(NodeLease held, CancellationToken cancellationToken);

    /// <summary>All nodes, in the order of their names.</summary>
    Task<IReadOnlyList<NodeStatus>> ListNodesAsync(CancellationToken cancellationToken);

    /// <summary>What a node should know of itself and of others, besides names.</summary>
    Task<NodeSurroundings> LookAroundAsync(string node, CancellationToken cancellationToken);

    /// <summary>Takes a node that lives out of service, or back into it, and notifies it.</summary>
    /// <returns>False when there is no such node.</returns>
    Task<bool> SetDrainedAsync(string node, bool isDrained, CancellationToken cancellationToken);

    /// <summary>Removes what no node needs any more: names that were left long ago, and nodes that were lost long ago.</summary>
    Task TidyAsync(CancellationToken cancellationToken);

    /// <summary>Hears changes until the connection fails, which it reports within some seconds.</summary>
    /// <param name="listening">Called once, when no later change is missed.</param>
    /// <param name="heard">Called for each change, also for those of this node. Does not block or throw.</param>
    /// <param name="asked">Called with a node that should look around. Does not block or throw.</param>
    /// <param name="shared">Called with the kind of a shared document that was changed. Does not block or throw.</param>
    /// <param name="cancellationToken">Ends it.</param>
    Task ListenAsync(
        Action listening, Action<NameNotice> heard, Action<string> asked, Action<string> shared, CancellationToken cancellationToken);
}
