namespace Tunnel2.Client.Live;

/// <summary>The options of <c>tunnel2 tap</c> and <c>tunnel2 stats</c>. Immutable.</summary>
internal sealed record TapOptions
{
    /// <summary>The relay to follow, or null for a ring or recording of this machine.</summary>
    public RelayTarget? Relay { get; init; }

    /// <summary>The hub of a node whose cluster to follow, or null.</summary>
    public TopOptions? Cluster { get; init; }

    /// <summary>The ring's file, or null to look for it.</summary>
    public string? RingFile { get; init; }

    /// <summary>A recording to show, instead of a live source.</summary>
    public string? ReplayFile { get; init; }

    /// <summary>A file to which shown records are also written.</summary>
    public string? RecordFile { get; init; }

    /// <summary>Whether to begin with the oldest available record instead of the next one.</summary>
    public bool FromOldest { get; init; }

    /// <summary>Threads that share a recording, or null for as many as are worth it.</summary>
    public int? Partitions { get; init; }

    /// <summary>Whether to print one JSON object per line.</summary>
    public bool Json { get; init; }

    /// <summary>Which records to show.</summary>
    public RecordFilter Filter { get; init; } = new();
}
