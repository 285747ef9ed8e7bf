namespace Tunnel2.Telemetry.Aggregation;

/// <summary>What is known of a job when a strategy is chosen for it.</summary>
/// <param name="SourceSplits">Readers the source can be split into; 1 when it cannot.</param>
/// <param name="SplitsAlignedWithKey">Whether all records of a group are in the same split.</param>
/// <param name="Stateful">Whether the stage keeps state per key.</param>
/// <param name="Mergeable">Whether states of the same group can be merged.</param>
internal readonly record struct RoutingPlan(int SourceSplits, bool SplitsAlignedWithKey, bool Stateful, bool Mergeable)
{
    /// <summary>Strategies by the names that settings use.</summary>
    internal static RoutingError TryParse(string name, out RoutingStrategy strategy)
    {
        (RoutingError error, strategy) = name switch
        {
            "hash" => (RoutingError.None, RoutingStrategy.HashOfKey),
            "source" => (RoutingError.None, RoutingStrategy.SourcePartition),
            "split-merge" => (RoutingError.None, RoutingStrategy.SplitAndMerge),
            "round-robin" => (RoutingError.None, RoutingStrategy.RoundRobin),
            _ => (RoutingError.UnknownName, default),
        };
        return error;
    }

    /// <summary>Whether <paramref name="strategy"/> gives right results for this job.</summary>
    internal RoutingError Check(RoutingStrategy strategy) => strategy switch
    {
        RoutingStrategy.SourcePartition when SourceSplits < 2 => RoutingError.SourceNotSplit,
        RoutingStrategy.SourcePartition when Stateful && !SplitsAlignedWithKey => RoutingError.SourceNotAligned,
        RoutingStrategy.SplitAndMerge when SourceSplits < 2 => RoutingError.SourceNotSplit,
        RoutingStrategy.SplitAndMerge when Stateful && !Mergeable => RoutingError.StateNotMergeable,
        RoutingStrategy.RoundRobin when Stateful => RoutingError.StatefulStage,
        _ => RoutingError.None,
    };
}
