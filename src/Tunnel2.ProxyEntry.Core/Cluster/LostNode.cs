namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>A node that has been there and has no lease any more.</summary>
/// <param name="Location">Where it was.</param>
/// <param name="At">When its lease ended, by this machine's clock.</param>
internal readonly record struct LostNode(NodeLocation Location, DateTimeOffset At);
