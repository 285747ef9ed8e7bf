namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>Why another node gives no feed.</summary>
/// <param name="Text">In words.</param>
/// <param name="IsOlder">Whether its release has none.</param>
internal sealed record NodeFeedProblem(string Text, bool IsOlder)
{
    /// <summary>The kind of it, one of a few words, for the metrics of calls.</summary>
    public string Reason { get; init; } = "cut";
}
