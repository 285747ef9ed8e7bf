namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>What a handshake found out about its peer. Of one handshake.</summary>
internal sealed class NodeVerdict
{
    /// <summary>What is wrong with the peer's certificate, for people; null: nothing.</summary>
    public string? Problem { get; set; }

    /// <summary>The node whose certificate it is; empty: none.</summary>
    public string Node { get; set; } = "";
}
