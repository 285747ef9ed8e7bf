namespace Tunnel2.Telemetry.Aggregation;

/// <summary>How a record's partition is chosen.</summary>
internal enum RoutingStrategy
{
    /// <summary>A router thread sends each record to the partition of its key's hash. Correct for every source and state.</summary>
    HashOfKey,

    /// <summary>Each split of the source is a partition. Needs a source that is split along the key.</summary>
    SourcePartition,

    /// <summary>
    /// Each split of the source keeps a local state, and the states are merged at the end. Needs a state that can be merged.
    /// </summary>
    SplitAndMerge,

    /// <summary>Batches go to the partitions in turn. For stages without state only.</summary>
    RoundRobin,
}
