namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>A node as the store knows it.</summary>
/// <param name="Node">Its name.</param>
/// <param name="LinkAddress">Where it accepts node links.</param>
/// <param name="Version">The version of its program.</param>
/// <param name="LeaseLeft">What is left of its lease; not positive: it is lost.</param>
/// <param name="Names">How many names it serves.</param>
/// <param name="IsDrained">Whether it was taken out of service.</param>
internal sealed record NodeStatus(string Node, string LinkAddress, string Version, TimeSpan LeaseLeft, long Names, bool IsDrained = false);
