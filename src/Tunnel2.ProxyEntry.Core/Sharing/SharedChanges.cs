namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>What is different from what a node followed before.</summary>
/// <param name="IsFirst">Nothing was followed before: there are these documents and no others.</param>
/// <param name="Put">Documents that are new or were changed, in the order of their keys.</param>
/// <param name="Gone">Keys of documents that were removed.</param>
internal sealed record SharedChanges(bool IsFirst, IReadOnlyList<SharedDocument> Put, IReadOnlyList<string> Gone)
{
    /// <summary>Nothing is different.</summary>
    public bool IsEmpty => !IsFirst && Put.Count == 0 && Gone.Count == 0;
}
