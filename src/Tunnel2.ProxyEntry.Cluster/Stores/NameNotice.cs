namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>What every node hears of a change.</summary>
/// <param name="State">What the registration is now.</param>
/// <param name="Name">The name.</param>
/// <param name="Node">The node that has it.</param>
/// <param name="Epoch">The epoch.</param>
/// <param name="LinkAddress">Where that node accepts links.</param>
/// <param name="Instance">The process of the agent.</param>
/// <param name="Share">Its place beside others, without the kind; null: the name is not shared.</param>
/// <param name="Weight">Its share of the requests.</param>
internal sealed record NameNotice(
    StoredState State, string Name, string Node, long Epoch, string LinkAddress, byte[] Instance, NameShare? Share = null, int Weight = 1);
