using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Cluster.Names;

/// <summary>What this node knows about a session that serves a name here, or was the last to. Guarded by the table's lock.</summary>
internal sealed class NameEntry
{
    /// <summary>The session that has the name, or had it last.</summary>
    public required EntrySession Session { get; init; }

    /// <summary>The number of the registration in this process: callers know it by that. 0: they can say nothing of it any more.</summary>
    public required long LocalEpoch { get; set; }

    /// <summary>Its place beside others; null: it has the name for itself.</summary>
    public required NameShare? Share { get; set; }

    /// <summary>The epoch in the database; 0: it is not published yet.</summary>
    public long Epoch { get; set; }

    /// <summary>The last epoch under which this node had the name before; 0: none.</summary>
    public long Base { get; set; }

    /// <summary>
    /// Whether the database was asked for it and its answer was lost, until it is published: it may have an epoch that is not known here.
    /// </summary>
    public bool MayBeKnown { get; set; }

    /// <summary>What the registration is for.</summary>
    public StoredState State { get; set; }

    /// <summary>With <see cref="StoredState.Left"/>: how long the name is kept for its owner.</summary>
    public TimeSpan KeptFor { get; set; }

    /// <summary>When <see cref="StoredState.Left"/> began, a timestamp.</summary>
    public long LeftAt { get; set; }

    /// <summary>Whether it is still to be reported to the database.</summary>
    public bool IsWaiting { get; set; }

    /// <summary>Whether the database could not hear of it because the name's row is locked.</summary>
    public bool WasAside { get; set; }

    /// <summary>The newest epoch of this node's own.</summary>
    public long Newest => Math.Max(Epoch, Base);
}
