namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>How a change to a shared document ended.</summary>
internal enum SharedOutcome
{
    /// <summary>It is in the database, and every node hears of it.</summary>
    Done,

    /// <summary>There is a document of this key.</summary>
    Taken,

    /// <summary>There are as many as may be.</summary>
    TooMany,

    /// <summary>There is no document of this key.</summary>
    Missing,

    /// <summary>The database does not have what this node has read: it was emptied. Nothing was changed.</summary>
    Emptied,
}
