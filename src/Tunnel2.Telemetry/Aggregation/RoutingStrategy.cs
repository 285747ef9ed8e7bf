namespace Tunnel2.Telemetry.Aggregation;

/// <summary>How a record's partition is chosen.</summary>
internal enum RoutingStrategy
{
    /// <summary>There is one partition, on the thread that reads: no hand-over.</summary>
    Fused = 0,

    /// <summary>
    /// The reading thread sends each record to the partition of its key's hash. Right for every source and state; a group's records keep
    /// their order.
    /// </summary>
    HashOfKey,

    /// <summary>Each thread reads a part of the source, keeps a local state, and the states are merged.</summary>
    SplitAndMerge,
}
