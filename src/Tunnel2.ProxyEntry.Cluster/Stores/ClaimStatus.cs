namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>How a claim ended. The numbers are those of the statements.</summary>
internal enum ClaimStatus
{
    /// <summary>The name is the node's, under a new epoch.</summary>
    Claimed = 0,

    /// <summary>It belongs to another.</summary>
    Taken = 1,

    /// <summary>The node has no lease, so nothing was changed.</summary>
    LeaseLost = 2,

    /// <summary>The session wants to share the name, and an agent of the same owner has it for itself.</summary>
    HeldAlone = 3,

    /// <summary>The session wants the name for itself, and agents of the same owner share it.</summary>
    HeldByPool = 4,

    /// <summary>Agents of the same owner share it under other terms.</summary>
    OtherTerms = 5,
}
