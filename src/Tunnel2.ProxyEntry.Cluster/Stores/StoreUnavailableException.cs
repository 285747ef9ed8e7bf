namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>
/// The store gave no answer in its time, or one that it cannot work with now. Whether the call had an effect is not known.
/// </summary>
/// <param name="reason">A few words of ours, such as <c>timed out</c>; no secret, and no text of the database.</param>
/// <param name="isSchemaMissing">The tables are not there.</param>
/// <param name="cause">What happened.</param>
internal sealed class StoreUnavailableException(string reason, bool isSchemaMissing = false, Exception? cause = null)
    : Exception(reason, cause)
{
    /// <summary>A few words that agents and operators may see.</summary>
    public string Reason { get; } = reason;

    /// <summary>The same as a sentence, for an agent that is refused.</summary>
    public string Trouble => $"The cluster's database is not available ({Reason}).";

    /// <summary>The tables are not there: they have to be made before the next try.</summary>
    public bool IsSchemaMissing { get; } = isSchemaMissing;

    /// <summary>A transaction holds a lock on a table, or on a row: the database itself is there.</summary>
    public bool IsLocked { get; init; }

    /// <summary>The tables say that this node is too old for them.</summary>
    public bool IsForNewerNodes { get; init; }
}
