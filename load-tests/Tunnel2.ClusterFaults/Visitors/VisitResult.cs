namespace Tunnel2.ClusterFaults.Visitors;

/// <summary>A request that has ended.</summary>
/// <param name="Name">The name that it was for.</param>
/// <param name="Node">The node that took it.</param>
/// <param name="Started">When it was due, since the load began.</param>
/// <param name="Ended">When it ended.</param>
/// <param name="Problem">What was wrong with it; null: status, length and every byte were right.</param>
internal sealed record VisitResult(string Name, string Node, TimeSpan Started, TimeSpan Ended, string? Problem)
{
    /// <summary>How long it took from when it was due.</summary>
    public TimeSpan Took => Ended - Started;

    /// <summary>Whether its answer had begun and was not whole.</summary>
    public bool IsTruncated => Problem?.StartsWith("truncated", StringComparison.Ordinal) == true;
}
