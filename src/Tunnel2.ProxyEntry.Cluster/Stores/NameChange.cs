namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>A change to a registration of the node's own. One of another epoch is not touched.</summary>
/// <param name="Name">The name.</param>
/// <param name="Epoch">The epoch.</param>
/// <param name="State">What it becomes.</param>
/// <param name="KeptFor">With <see cref="StoredState.Left"/>: how long the name is kept for its owner.</param>
/// <param name="IsHealthy">Where the name is shared: whether the service works; null: it is not shared.</param>
internal sealed record NameChange(
    string Name, long Epoch, StoredState State, TimeSpan KeptFor = default, bool? IsHealthy = null);
