namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>What the publishers of a run do.</summary>
public enum StoreWorkload
{
    /// <summary>All of them store, cycling the same 10 keys.</summary>
    SameKeys,

    /// <summary>All of them store, each time under a key that was not used before.</summary>
    DifferentKeys,

    /// <summary>Half of them store, cycling 20 keys; the others read snapshots and count what is in them.</summary>
    MixedReadsAndWrites,
}
