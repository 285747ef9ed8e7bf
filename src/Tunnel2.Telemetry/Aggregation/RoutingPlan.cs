namespace Tunnel2.Telemetry.Aggregation;

/// <summary>What is known of a job when the way of its records is chosen.</summary>
/// <param name="Partitions">How many partitions it shall have.</param>
/// <param name="SourceCanBeSplit">Whether several threads can read parts of the source: of a file, not of a live ring.</param>
/// <param name="Mergeable">Whether states of the same group can be merged.</param>
internal readonly record struct RoutingPlan(int Partitions, bool SourceCanBeSplit, bool Mergeable)
{
    /// <summary>
    /// The strategy with the least hand-over: splitting moves no record between threads, a router moves each.
    /// </summary>
    internal RoutingStrategy Strategy =>
        Partitions <= 1 ? RoutingStrategy.Fused
        : SourceCanBeSplit && Mergeable ? RoutingStrategy.SplitAndMerge
        : RoutingStrategy.HashOfKey;
}
