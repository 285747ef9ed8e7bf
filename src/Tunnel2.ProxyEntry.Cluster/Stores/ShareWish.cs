namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>A limit of which a node wants its share.</summary>
/// <param name="Name">The name whose sessions it limits.</param>
/// <param name="Group">What these sessions have in common; see <see cref="NameShare.Group"/>.</param>
/// <param name="Demand">What the node's visitors want of it.</param>
/// <param name="Decide">
/// Gives the node's next share from what the store knows; null: the node does without one. Called once, in the store's order, before the
/// result is there for others. Throws where the call was given up.
/// </param>
internal sealed record ShareWish(string Name, byte[] Group, double Demand, Func<ShareView, double?> Decide);
