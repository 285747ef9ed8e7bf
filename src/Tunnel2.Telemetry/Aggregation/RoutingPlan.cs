namespace Tunnel2.Telemetry.Aggregation;

/// <summary>The facts about a job from which a strategy is chosen.</summary>
/// <param name="SourceSplits">Into how many readers the source can be split; 1 when it cannot be split.</param>
/// <param name="SplitsAlignedWithKey">Whether all records of a group are in the same split.</param>
/// <param name="Stateful">Whether the stage keeps state per key.</param>
/// <param name="Mergeable">Whether states of the same group can be merged.</param>
internal readonly record struct RoutingPlan(int SourceSplits, bool SplitsAlignedWithKey, bool Stateful, bool Mergeable)
{
    /// <summary>Finds the strategy by its name in settings.</summary>
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

    /// <summary>Whether <paramref name="strategy"/> gives correct results for this job.</summary>
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
