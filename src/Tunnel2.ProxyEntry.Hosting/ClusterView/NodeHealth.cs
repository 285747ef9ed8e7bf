namespace Tunnel2.ProxyEntry.ClusterView;

/// <summary>What the cluster's view says of a node.</summary>
internal enum NodeHealth
{
    /// <summary>It was asked for its feed, and has not answered yet.</summary>
    Connecting,

    /// <summary>Its messages come.</summary>
    Up,

    /// <summary>Nothing comes from it: what is known of it is from before.</summary>
    Lost,

    /// <summary>Its release has no feed for other nodes.</summary>
    Older,
}
