namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>
/// Where a name lives that this node does not serve, or not alone. Only a node of a cluster has one. What it says may be out of date: the
/// node that is named decides, and its refusal is what <see cref="Forget"/> is for. Thread-safe.
/// </summary>
internal interface ISessionLocator
{
    /// <summary>Looks in the cache only. Called for requests: it does not wait or allocate.</summary>
    /// <param name="name">The name in lower case.</param>
    /// <param name="places">The nodes that serve it, without this one.</param>
    bool TryLocate(ReadOnlySpan<char> name, out NodePlaces places);

    /// <summary>
    /// Whether no node served a name some seconds ago, its agent is not expected back, and this node has heard of no registration since.
    /// Does not wait or allocate.
    /// </summary>
    bool IsUnknown(ReadOnlySpan<char> name);

    /// <summary>
    /// Asks the cluster when the cache does not know. Requests for one name share one question, names that no node serves are remembered
    /// for a second, and questions are limited to a rate. No places where no node serves the name, or where there is no answer
    /// (<see cref="LocatedName.IsUnanswered"/>). The answer may be this node itself alone, whose own directory gets the session in a
    /// moment (<see cref="NodePlaces.IsHere"/>).
    /// </summary>
    ValueTask<LocatedName> LocateAsync(string name, CancellationToken cancellationToken);

    /// <summary>
    /// The digest of the owner whose session has a name, at any node; null: none is known. Asks the database each time: for what is rare.
    /// </summary>
    ValueTask<byte[]?> FindOwnerAsync(string name, CancellationToken cancellationToken);

    /// <summary>
    /// The node that was named says that it gave up this registration, or does not answer. One of another epoch is not touched. Where
    /// others serve the name too, the cluster is asked again a second later, without a request that waits for it.
    /// </summary>
    void Forget(string name, long epoch);
}
