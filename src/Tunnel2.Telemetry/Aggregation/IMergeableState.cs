namespace Tunnel2.Telemetry.Aggregation;

/// <summary>What a part of the input comes to, and what those of the other parts can be added to. Not thread-safe.</summary>
internal interface IMergeableState<TSelf> : IPartitionState<RequestSample>
    where TSelf : class, IMergeableState<TSelf>
{
    /// <summary>Adds what another part came to; its session <c>k</c> is <c>renumber(k)</c> here.</summary>
    void Absorb(TSelf other, Func<int, int> renumber);
}
