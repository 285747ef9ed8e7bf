namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>A node that has been there and has no lease any more.</summary>
/// <param name="Location">Where it was.</param>
/// <param name="At">When its lease ended, by this machine's clock.</param>
internal readonly record struct LostNode(NodeLocation Location, DateTimeOffset At)
{
    /// <summary>How long it is shown as lost: by the live view, the API and the command alike.</summary>
    public static readonly TimeSpan ShownFor = TimeSpan.FromMinutes(10);
}
