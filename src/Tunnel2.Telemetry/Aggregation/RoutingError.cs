namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Why a routing strategy does not fit a job.</summary>
internal enum RoutingError
{
    None = 0,

    /// <summary>No strategy has this name.</summary>
    UnknownName,

    /// <summary>Splits of the source cut through groups, so each partition would present partial results as complete ones.</summary>
    SourceNotAligned,

    /// <summary>The source cannot be split.</summary>
    SourceNotSplit,

    /// <summary>The state's results cannot be merged.</summary>
    StateNotMergeable,

    /// <summary>The stage keeps state per key, and round robin would spread a key over partitions.</summary>
    StatefulStage,
}
