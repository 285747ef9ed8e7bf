namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Why a routing strategy was refused for a job.</summary>
internal enum RoutingError
{
    None = 0,

    /// <summary>No strategy has this name.</summary>
    UnknownName,

    /// <summary>The source's splits cut through the groups, so partitions of the source would give partial results as whole ones.</summary>
    SourceNotAligned,

    /// <summary>The source cannot be split.</summary>
    SourceNotSplit,

    /// <summary>The state's results cannot be merged.</summary>
    StateNotMergeable,

    /// <summary>The stage keeps state per key, which round robin would scatter.</summary>
    StatefulStage,
}
