namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>What a node does with the documents of a kind. Calls come one after the other.</summary>
internal interface ISharedContent
{
    /// <summary>What this node has in its state folder, for a database that does not have it yet.</summary>
    IReadOnlyList<SharedDocument> Own();

    /// <summary>Follows what is different. Called after each look, also where nothing is. What cannot be used harms nothing else.</summary>
    /// <returns>How many sessions were ended.</returns>
    int Follow(SharedChanges changes);
}
