using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Client.Live;

/// <summary>Writes a tap's events as lines of text. Not thread-safe.</summary>
internal interface IRecordFormatter
{
    /// <summary>The node of the next records, where there are several; otherwise null.</summary>
    string? Node { get; set; }

    /// <summary>Writes a record.</summary>
    void Write(TextWriter output, long sequence, in RequestRecord record);

    /// <summary>Writes a number of missed records.</summary>
    void Write(TextWriter output, in RingGap gap);

    /// <summary>Writes that messages of <see cref="Node"/>, or of all nodes, did not come. How many records they had is unknown.</summary>
    void WriteLost(TextWriter output, long messages);

    /// <summary>Writes the end of the tap.</summary>
    void WriteEnd(TextWriter output, TapCounts counts);
}

/// <summary>A tap's counts of records.</summary>
internal sealed class TapCounts
{
    /// <summary>All records that arrived.</summary>
    public long Seen { get; set; }

    /// <summary>Records that passed the filter.</summary>
    public long Shown { get; set; }

    /// <summary>Missed records, exactly.</summary>
    public long Missed { get; set; }

    /// <summary>How often another ring replaced the ring. The number of records between two rings is unknown.</summary>
    public long Replaced { get; set; }

    /// <summary>Messages with an unknown number of records that did not come.</summary>
    public long LostMessages { get; set; }

    /// <summary>Records that are not requests or could not be read.</summary>
    public long Unreadable { get; set; }
}
