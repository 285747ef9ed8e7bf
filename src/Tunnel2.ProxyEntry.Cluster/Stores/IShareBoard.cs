namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>
/// Where nodes say what they want of limits that they share, and see what others have. One node after the other: no other node's share of a
/// name changes between what a node sees and what it decides. Thread-safe.
/// </summary>
internal interface IShareBoard
{
    /// <summary>Reports a node's demands and decides its shares. Ends within half a second, as <see cref="IClusterStore"/> does.</summary>
    /// <param name="node">The node.</param>
    /// <param name="wishes">What it wants, each name once.</param>
    /// <param name="keptFor">How long others count on it.</param>
    /// <param name="cancellationToken">Gives up.</param>
    Task ExchangeAsync(string node, IReadOnlyList<ShareWish> wishes, TimeSpan keptFor, CancellationToken cancellationToken);
}
