using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Client.Live;

/// <summary>Writes what a tap sees as lines of text. Not thread-safe.</summary>
internal interface IRecordFormatter
{
    /// <summary>A record.</summary>
    void Write(TextWriter output, long sequence, in RequestRecord record);

    /// <summary>Records that were missed.</summary>
    void Write(TextWriter output, in RingGap gap);

    /// <summary>The end of the tap.</summary>
    void WriteEnd(TextWriter output, TapCounts counts);
}

/// <summary>What a tap saw, in records.</summary>
internal sealed class TapCounts
{
    /// <summary>All that came.</summary>
    public long Seen { get; set; }

    /// <summary>Those that the filter let through.</summary>
    public long Shown { get; set; }

    /// <summary>Those that were missed, exactly.</summary>
    public long Missed { get; set; }

    /// <summary>How often the ring was replaced by another, which makes the number of records between them unknown.</summary>
    public long Replaced { get; set; }

    /// <summary>Those that are no requests or could not be read.</summary>
    public long Unreadable { get; set; }
}
